# SPDX-License-Identifier: MIT
"""triton.language.extra in neso: libdevice and what is CUDA's own."""
from . import cuda, libdevice

__all__ = ["cuda", "libdevice"]
