# SPDX-License-Identifier: MIT
"""triton.language in neso: the names of the language, for the host code of a program (see core.py)."""
from . import core, extra, math, random, standard, target_info
from .core import *  # noqa: F401,F403
from .core import (PropagateNan, _unwrap_if_constexpr, block_type, builtin, const, constexpr, constexpr_type, dtype,  # noqa: F401
                   pointer_type, slice, str_to_ty, tensor, tensor_descriptor, tuple)

__all__ = [name for name in globals() if not name.startswith("_")]


def __getattr__(name):
    raise AttributeError(f"neso's triton.language has no '{name}'; `neso help language` lists what it has")
