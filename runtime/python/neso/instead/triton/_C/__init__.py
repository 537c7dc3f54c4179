# SPDX-License-Identifier: MIT
"""triton._C in neso: there is no compiled part; libtriton is what torch asks for."""
