# SPDX-License-Identifier: MIT
"""triton.language.extra.libdevice in neso: CUDA's library of functions."""
from ..core import language_functions as _language_functions

globals().update(_language_functions("triton.language.extra.libdevice", "libdevice"))


def __getattr__(name):
    raise AttributeError(f"neso's libdevice has no '{name}'; `neso help language` lists what it has")
