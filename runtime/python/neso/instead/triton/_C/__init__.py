# SPDX-License-Identifier: MIT
"""triton._C in neso contains no compiled code. It exists because torch imports its module
libtriton."""
