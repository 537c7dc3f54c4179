# SPDX-License-Identifier: MIT
"""triton._C in neso, which has no compiled part: torch imports its module libtriton."""
