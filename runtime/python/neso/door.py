# SPDX-License-Identifier: MIT
"""door.py: puts neso where `triton` was.

The folder instead/ holds a package `triton` of neso's. Ahead of all others on the path it is what `import triton` finds, here and,
by PYTHONPATH, in every process that is started from here.
"""
import os
import sys

INSTEAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instead")


def is_installed():
    found = sys.modules.get("triton")
    return found is not None and os.path.dirname(os.path.dirname(os.path.abspath(found.__file__))) == INSTEAD


def install(children=True):
    """From here on `import triton` is neso's; with `children` in processes started from here too."""
    if "triton" in sys.modules and not is_installed():
        raise ImportError("triton is imported already: call neso.install() before whatever imports triton (torch may), "
                          "or run the program by `python -m neso`")
    if INSTEAD not in sys.path:
        sys.path.insert(0, INSTEAD)
    if children:
        os.environ["NESO_TRITON"] = "1"
        os.environ["PYTHONPATH"] = os.pathsep.join(path_of_children(os.environ.get("PYTHONPATH", "")))


def path_of_children(given):
    """PYTHONPATH's folders: neso's triton, the package where Python does not look by itself, then what was given."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    ours = [INSTEAD] if os.path.basename(package) in ("site-packages", "dist-packages") else [INSTEAD, package]
    return ours + [p for p in given.split(os.pathsep) if p and p not in ours]


def from_environment():
    """What the .pth file of an installation calls when Python starts."""
    if os.environ.get("NESO_TRITON", "0") not in ("", "0") and INSTEAD not in sys.path:
        sys.path.insert(0, INSTEAD)
