# SPDX-License-Identifier: MIT
"""triton.compiler.errors in neso: a kernel that cannot be compiled."""
from ..errors import TritonError


class CompilationError(TritonError):
    """A kernel cannot be compiled. The error's text is the compiler's message, with the place and the source line."""

    def __init__(self, src, node=None, error_message=None):
        super().__init__(src, node, error_message)
        self.src, self.node, self.error_message = src, node, error_message
        self.message = error_message or src

    def __str__(self):
        return self.message or ""


class CompileTimeAssertionFailure(CompilationError):
    """A tl.static_assert has failed."""


class UnsupportedLanguageConstruct(CompilationError):
    pass
