# SPDX-License-Identifier: MIT
"""fallback.py: implements NESO_FALLBACK=triton: the original Triton runs the kernels that neso refuses, and a report at exit lists them."""
import atexit
import os
import sys

_refused = {}


def is_on():
    word = os.environ.get("NESO_FALLBACK", "")
    if word not in ("", "0", "error", "triton"):
        raise ValueError(f"NESO_FALLBACK: expected triton, or error (the default), found '{word}'")
    return word == "triton"


def is_refusal(e):
    """Returns whether the error means that neso cannot compile the kernel. A failed static assertion and too little shared memory do not
    count, because they are errors of the program."""
    from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure

    from .library import NesoError
    return isinstance(e, (CompilationError, NesoError)) and not isinstance(e, CompileTimeAssertionFailure)


class Refused:
    """The object that represents a kernel that neso could not compile."""

    def __init__(self, fn, error):
        if not _refused:
            atexit.register(report)
        _refused.setdefault(f"{fn.fn.__module__}.{fn.fn.__qualname__}", str(error))


def report():
    sys.stderr.write(f"neso: {len(_refused)} kernel{'s' if len(_refused) > 1 else ''} ran by the original Triton (NESO_FALLBACK=triton):\n")
    for name, error in _refused.items():
        lines = [line for line in error.splitlines() if "error" in line] or error.splitlines()[:1]
        sys.stderr.write(f"    {name}: {lines[0] if lines else 'no reason is known'}\n")
