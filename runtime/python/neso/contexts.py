# SPDX-License-Identifier: MIT
"""contexts.py: chooses the device, and keeps one context of the library for each device and process.

NESO_DEVICE names the device: cuda, interpreter, emulator, or best (the default), which is cuda if the driver sees a GPU, and otherwise the
interpreter. TRITON_INTERPRET=1 chooses the interpreter.
"""
import contextlib
import os
import sys
import threading

from . import library

_lock = threading.RLock()
_contexts = {}
_chosen = {}
_printed = threading.local()
CPU = ("interpreter", "emulator")


def choice():
    """Returns the device that the environment chooses: "cuda", "interpreter" or "emulator"."""
    word = os.environ.get("NESO_DEVICE") or "best"
    if os.environ.get("TRITON_INTERPRET", "0") not in ("", "0") and word == "best":
        word = "interpreter"
    if word not in ("best", "cuda") + CPU:
        raise ValueError(f"NESO_DEVICE: expected cuda, interpreter, emulator or best, found '{word}'")
    if word == "best":
        if "best" not in _chosen:
            _chosen["best"] = "cuda" if compiling().gpus() else "interpreter"
        word = _chosen["best"]
    return word


def show(text):
    """Prints the output of a kernel. Inside a block of `held_prints` of this thread, adds the text to the block's list
    instead."""
    texts = getattr(_printed, "texts", None)
    if texts is None:
        sys.stdout.write(text)
    else:
        texts.append(text)


@contextlib.contextmanager
def held_prints():
    """A context manager: in its block, prints of kernels are kept in the list that the block gets. At the end of the
    block, the rest of the list is printed."""
    _printed.texts = texts = []
    try:
        yield texts
    finally:
        _printed.texts = None
        sys.stdout.write("".join(texts))


def get(device):
    """Returns the context of a device ("cuda:0", "interpreter"); for None, a context that can only compile."""
    key = os.getpid(), device
    context = _contexts.get(key)
    if context is None:
        with _lock:
            context = _contexts.get(key)
            if context is None:
                context = library.Context(device, library.cache_folder())
                context.on_print(show)
                _contexts[key] = context
    return context


def compiling():
    return get(None)


def is_open(device):
    return (os.getpid(), device) in _contexts
