# SPDX-License-Identifier: MIT
"""capsules.py: writes failed launches to files for `neso replay`, if NESO_CAPSULE is on or names a folder.

    NESO_CAPSULE=kept python -m neso train.py writes a failed launch to kept/KERNEL.capsule; the exception names the
    file kernel.capsule("k.capsule", grid, *args) writes one launch, even if it ends with a fault (library.py)
"""
import ctypes
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p

MOST = 10  # the largest number of files that one process writes
RESULT, FAULT, DIFFERENCE = 0, 1, 2
_OFF, _ON = ("", "0", "off"), ("1", "y", "on", "yes", "true")
_here = threading.local()
_kept = []


class Capsule(Structure):
    """The first members of neso_capsule."""
    _fields_ = ([("size", c_size_t)] + [(name, c_char_p) for name in ("kernel", "signature", "target", "params", "skip")]
                + [(name, c_int) for name in ("num_warps", "num_stages", "max_registers", "no_fp_fusion", "deterministic", "fp_reassoc", "debug")]
                + [("grid", c_uint32 * 3), ("programs", c_int64), ("device", c_char_p), ("seen", c_int)]
                + [(name, c_char_p) for name in ("tag", "text", "pass_", "without")] + [("line", c_uint32)])


def is_on():
    return os.environ.get("NESO_CAPSULE", "").lower() not in _OFF


def folder():
    word = os.environ.get("NESO_CAPSULE", "")
    if word.lower() in _ON or word.lower() in _OFF:
        return "."
    os.makedirs(word, exist_ok=True)
    return word


def keep(kernel, data):
    """Writes FOLDER/KERNEL.capsule, or KERNEL-2.capsule and so on, and returns the path; None if this process has
    already written MOST files."""
    if len(_kept) >= MOST:
        return None
    for n in range(1, 10000):
        path = os.path.join(folder(), f"{kernel[:150]}{f'-{n}' if n > 1 else ''}.capsule")
        try:
            with open(path, "xb") as f:
                f.write(data)
            _kept.append(path)
            return path
        except FileExistsError:
            pass
    return None


def words(path):
    return (f"neso: capsule: the launch is kept in {path}: `neso replay {path}` launches it again, "
            f"`neso replay --reduce {path} -o small.capsule` makes it small")


def take_note():
    """Returns a line about the capsule of this thread's last failed launch, for the error message; "" if there is no
    capsule."""
    note, _here.note = getattr(_here, "note", ""), ""
    return note


@CFUNCTYPE(c_int, c_void_p, c_char_p)
def wants(_, kernel):
    return int(is_on())


Give = CFUNCTYPE(None, c_void_p, POINTER(Capsule), c_void_p, c_size_t)


@Give
def take(_, seen, data, length):
    x, note = seen.contents, ""
    if data is None:
        note = f"neso: capsule: no capsule of this launch of {x.kernel.decode()}: {x.text.decode()}"
    elif is_on():
        try:
            path = keep(x.kernel.decode(), ctypes.string_at(data, length))
            note = words(path) if path else ""
        except OSError as e:
            note = f"neso: capsule: {e}"
    if note and x.seen == DIFFERENCE:
        sys.stderr.write(note + "\n")
    elif note:
        _here.note = "\n" + note
