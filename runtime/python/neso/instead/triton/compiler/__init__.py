# SPDX-License-Identifier: MIT
"""triton.compiler in neso."""
from .compiler import ASTSource, AsmDict, CompiledKernel, IRSource, LazyDict, compile, make_backend
from .errors import CompilationError

__all__ = ["compile", "make_backend", "ASTSource", "IRSource", "AsmDict", "CompiledKernel", "CompilationError", "LazyDict"]
