# SPDX-License-Identifier: MIT
"""torch_calls.py: finds PyTorch's C functions (aoti_torch_*, its stable ABI), by which the extension reads tensors, the current device and the
current stream without Python calls.

The place of an at::Tensor in its Python object is not part of that ABI. It is the place where a tensor's object holds the address `_cdata`. The
functions are used only if their results for tensors at this place agree with PyTorch's Python.
"""
import ctypes
import functools
import os
import sys

NAMES = "data_ptr", "dtype", "device_type", "current_device_index", "current_cuda_stream"
WORD = ctypes.sizeof(ctypes.c_void_p)


def _offset(x):
    """Returns the place of the word in x's object that holds x._cdata; None if there is not exactly one."""
    count = type(x).__basicsize__ // WORD
    words = (ctypes.c_void_p * count).from_address(id(x))
    found = [WORD * i for i in range(2, count) if words[i] == x._cdata]
    return found[0] if len(found) == 1 else None


def _library(torch, name):
    """Returns a library that PyTorch has loaded already; None if there is none of this name."""
    path = os.path.join(os.path.dirname(torch.__file__), "lib", name)
    try:
        return ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except (OSError, AttributeError):
        return None


def _addresses(torch):
    found = {}
    for library in filter(None, (_library(torch, name) for name in ("libtorch_cpu.so", "libtorch_cuda.so"))):
        for name in NAMES:
            entry = getattr(library, f"aoti_torch_get_{name}", None)
            if entry is not None:
                found.setdefault(name, entry)
    return found


def _agrees(entries, x, offset, code):
    """Returns whether the functions give x's address, and the given codes of its device and type."""
    address, number = ctypes.c_void_p(), ctypes.c_int32(-1)
    tensor = ctypes.c_void_p(id(x) + offset)
    asked = []
    for name in ("device_type", "dtype"):
        asked.append(entries[name](tensor, ctypes.byref(number)) or number.value)
    return asked == code and entries["data_ptr"](tensor, ctypes.byref(address)) == 0 and (address.value or 0) == x.data_ptr()


@functools.lru_cache(None)
def find(torch):
    """Returns (offset, the addresses of the functions in NAMES, 0 for the last two if they are not there); None if PyTorch's functions cannot be
    used."""
    if sys.implementation.name != "cpython" or not hasattr(getattr(torch, "Tensor", None), "_cdata"):
        return None
    try:
        return _find(torch)
    except Exception:  # a mode of PyTorch may refuse these tensors
        return None


def _find(torch):
    x, y = (torch.empty(3, dtype=dtype, device="cpu") for dtype in (torch.float32, torch.float16))
    samples = [(x, [0, 6]), (y[1:], [0, 5]), (torch.nn.Parameter(x), [0, 6])]  # (tensor, [code of the CPU, code of the element type])
    offset = _offset(x)
    entries = _addresses(torch) if offset is not None else {}
    if any(name not in entries for name in NAMES[:3]) or any(_offset(x) != offset or not _agrees(entries, x, offset, code) for x, code in samples):
        return None
    return (offset, *(ctypes.cast(entries[name], ctypes.c_void_p).value if name in entries else 0 for name in NAMES))


def direct(torch):
    """Returns the arguments of the extension's objects that let them read PyTorch's tensors: what find() returns, and the types of tensors."""
    found = find(torch) if torch is not None else None
    return () if found is None else (found, (torch.Tensor, torch.nn.Parameter))
