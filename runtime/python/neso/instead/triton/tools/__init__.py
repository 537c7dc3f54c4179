# SPDX-License-Identifier: MIT
"""triton.tools in neso."""
