# SPDX-License-Identifier: MIT
"""triton.language.random in neso: an additional name for the language's functions."""
from . import core as _core

globals().update(_core.language_functions("triton.language.core", "tl", "tl.core", "tl.random"))


def __getattr__(name):
    raise AttributeError(f"neso's triton.language.random has no '{name}'; `neso help language` lists what it has")
