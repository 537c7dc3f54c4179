# SPDX-License-Identifier: MIT
"""door.py: replaces `triton` by neso.

The folder instead/ contains neso's package `triton`. door.py makes it the first folder on sys.path, so that `import triton` finds it, and
adds it to PYTHONPATH for child processes.
"""
import os
import sys

INSTEAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instead")


def is_installed():
    found = sys.modules.get("triton")
    return found is not None and os.path.dirname(os.path.dirname(os.path.abspath(found.__file__))) == INSTEAD


def install(children=True):
    """Makes later imports of triton find neso's package; if `children` is true, also in child processes."""
    if "triton" in sys.modules and not is_installed():
        raise ImportError("triton is imported already: call neso.install() before whatever imports triton (torch may), "
                          "or run the program by `python -m neso`")
    if INSTEAD not in sys.path:
        sys.path.insert(0, INSTEAD)
    if children:
        os.environ["NESO_TRITON"] = "1"
        os.environ["PYTHONPATH"] = os.pathsep.join(path_of_children(os.environ.get("PYTHONPATH", "")))


def path_of_children(given):
    """Returns the folders for PYTHONPATH: the folder of neso's triton; the folder of the package neso, unless the package is in
    site-packages; then the previous folders."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    ours = [INSTEAD] if os.path.basename(package) in ("site-packages", "dist-packages") else [INSTEAD, package]
    return ours + [p for p in given.split(os.pathsep) if p and p not in ours]


def from_environment():
    """The .pth file of an installation calls this function when Python starts."""
    if os.environ.get("NESO_TRITON", "0") not in ("", "0") and INSTEAD not in sys.path:
        sys.path.insert(0, INSTEAD)
