# SPDX-License-Identifier: MIT
"""neso in Python: Triton kernels to PTX, without LLVM.

    python -m neso train.py        runs a program with neso where Triton was; see `python -m neso --help`
    neso.install()                 does the same for what is imported from here on

The library's own functions are bound in library.py (neso.Context and so on); what stands in for `triton` lies in instead/.
"""
_LIBRARY = ("Context", "Module", "Kernel", "NesoError", "TEXTS", "version", "help_text")
_DOOR = ("install", "is_installed")


def __getattr__(name):
    """The library is opened when it is first needed: installing alone costs a program nothing."""
    if name in _LIBRARY:
        from . import library
        return getattr(library, name)
    if name in _DOOR:
        from . import door
        return getattr(door, name)
    raise AttributeError(f"module 'neso' has no attribute '{name}'")
