# SPDX-License-Identifier: MIT
"""triton.language.math in neso: the language's functions, also found here."""
from . import core as _core

globals().update(_core.language_functions("triton.language.core", "tl", "tl.core", "tl.math"))


def __getattr__(name):
    raise AttributeError(f"neso's triton.language.math has no '{name}'; `neso help language` lists what it has")
