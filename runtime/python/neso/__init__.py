# SPDX-License-Identifier: MIT
"""neso in Python: compiles Triton kernels to PTX, without LLVM.

    python -m neso train.py        runs a program with neso in place of Triton; see `python -m neso --help`
    neso.install()                 makes all later imports of triton import neso's package

library.py binds the functions of the C library (neso.Context and so on); the folder instead/
contains the package that replaces `triton`.
"""
_LIBRARY = ("Context", "Module", "Kernel", "NesoError", "TEXTS", "version", "help_text")
_DOOR = ("install", "is_installed")


def __getattr__(name):
    """Opens the library when a program first needs it, so that neso.install() alone takes no
    time."""
    if name in _LIBRARY:
        from . import library
        return getattr(library, name)
    if name in _DOOR:
        from . import door
        return getattr(door, name)
    raise AttributeError(f"module 'neso' has no attribute '{name}'")
