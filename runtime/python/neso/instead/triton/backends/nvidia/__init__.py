# SPDX-License-Identifier: MIT
"""triton.backends.nvidia in neso."""
