# SPDX-License-Identifier: MIT
"""triton.language.extra in neso: libdevice, and functions that exist only for CUDA."""
from . import cuda, libdevice

__all__ = ["cuda", "libdevice"]
