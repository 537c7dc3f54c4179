# SPDX-License-Identifier: MIT
"""triton._C in neso contains no compiled code. The package exists because torch imports its module libtriton."""
