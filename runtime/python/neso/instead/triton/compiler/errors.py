# SPDX-License-Identifier: MIT
"""triton.compiler.errors in neso: a kernel that cannot be compiled."""
from ..errors import TritonError

LINES_MOST = 12  # source lines in the text of an error, as in Triton


class CompilationError(TritonError):
    """A kernel cannot be compiled.

    src: the source text of the function; node: an object with the place in `src`, lineno (from 1) and col_offset (from 0); error_message: the
    words. text: the compiler's message with the place and the source line in the user's file. Without `text`, the error's text has Triton's
    form.
    """

    def __init__(self, src, node=None, error_message=None, text=None):
        super().__init__(src, node, error_message, text)
        self.src, self.node, self.error_message, self.text = src, node, error_message, text
        self.message = self._format_message()

    def _format_message(self):
        words = self.error_message or ""
        if not hasattr(self.node, "lineno"):
            return self.text or words or self.src or ""
        place = f"at {self.node.lineno}:{self.node.col_offset}:"
        if self.text:
            return f"{self.text.rstrip()}\nTriton's form: {place}\n{words}"
        lines = self.src.split("\n")[:self.node.lineno][-LINES_MOST:] if self.src else ["<source unavailable>"]
        return "\n".join([place, *lines, " " * self.node.col_offset + "^", *([words] if words else [])])

    def __str__(self):
        return self.message


class CompileTimeAssertionFailure(CompilationError):
    """A tl.static_assert has failed."""


class UnsupportedLanguageConstruct(CompilationError):
    pass
