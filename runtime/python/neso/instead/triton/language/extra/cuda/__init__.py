# SPDX-License-Identifier: MIT
"""triton.language.extra.cuda in neso."""
from . import libdevice
from ...core import language_functions as _language_functions

globals().update(_language_functions("triton.language.extra.cuda", "tl.extra.cuda"))


def __getattr__(name):
    raise AttributeError(f"neso's triton.language.extra.cuda has no '{name}'; `neso help language` lists what it has")
