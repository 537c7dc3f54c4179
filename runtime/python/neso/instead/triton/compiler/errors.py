# SPDX-License-Identifier: MIT
"""triton.compiler.errors in neso: a kernel that cannot be compiled."""
from ..errors import TritonError


class CompilationError(TritonError):
    """Its text is the compiler's: the place, the line, what was found and expected."""

    def __init__(self, src, node=None, error_message=None):
        super().__init__(src, node, error_message)
        self.src, self.node, self.error_message = src, node, error_message
        self.message = error_message or src

    def __str__(self):
        return self.message or ""


class CompileTimeAssertionFailure(CompilationError):
    """tl.static_assert failed."""


class UnsupportedLanguageConstruct(CompilationError):
    pass
