# SPDX-License-Identifier: MIT
"""compiling.py: compiles kernels before they are timed, in parallel: neso's kernels in threads (the driver's assembler takes most of
the time), and Triton's kernels in processes, which fill Triton's disk cache. This file times nothing."""
import concurrent.futures
import importlib
import multiprocessing
import os
import sys
import threading

import neso

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "..", "programs")
WORKERS = min(14, os.cpu_count() or 1)
_of_thread = threading.local()


NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float8_e4m3fn": "fp8e4nv", "int8": "i8", "int32": "i32",
         "int64": "i64"}


def specialize(args):
    """Returns the entries of a signature for these arguments, specialized as in Triton, and the values that a launch passes."""
    entries, values = [], []
    for a in args:
        if hasattr(a, "data_ptr"):
            entries.append("*" + NAMES[str(a.dtype).split(".")[-1]] + (":16" if a.data_ptr() % 16 == 0 else ""))
            values.append(a.data_ptr())
        elif isinstance(a, int) and a == 1:
            entries.append("1")
        else:
            entries.append("fp32" if isinstance(a, float) else "i32:16" if a % 16 == 0 else "i32")
            values.append(a)
    return ", ".join(entries), values


def for_triton(args):
    """Returns the arguments in the form in which jobs of warm_triton contain them."""
    return [NAMES[str(a.dtype).split(".")[-1]] if hasattr(a, "data_ptr") else a for a in args]


def _module(source, device):
    """Returns the module of a source. Only one thread at a time may use a context, so each thread has its own
    context."""
    modules = _of_thread.__dict__.setdefault("modules", {})
    if source not in modules:
        context = _of_thread.__dict__.setdefault("context", None) or neso.Context(device)
        _of_thread.context = context
        modules[source] = context.module(os.path.join(PROGRAMS, source + ".py"))
    return modules[source]


class Ours:
    """Kernels compiled by neso, by (source, name, signature, options)."""

    def __init__(self, device="cuda"):
        self.device, self.found = device, {}
        self.pool = concurrent.futures.ThreadPoolExecutor(WORKERS)

    def _compile(self, source, name, signature, options):
        return _module(source, self.device).kernel(name, signature, **dict(options))

    def start(self, source, name, signature, **options):
        key = (source, name, signature, tuple(sorted(options.items())))
        if key not in self.found:
            self.found[key] = self.pool.submit(self._compile, *key)
        return self.found[key]

    def kernel(self, *key, **options):
        return self.start(*key, **options).result()


def _warm(job):
    """Compiles a job, (source, kernel, arguments, constants, options), with Triton; the argument "fp16" stands for a pointer to
    float16."""
    source, name, args, constants, options = job
    import torch
    if PROGRAMS not in sys.path:
        sys.path.insert(0, PROGRAMS)
    types = {short: getattr(torch, long) for long, short in NAMES.items()}
    try:
        kernel = getattr(importlib.import_module(source), name)
        kernel.warmup(*[types[a] if isinstance(a, str) else a for a in args], **constants, grid=(1,), **options)
    except Exception as e:  # ignored: the contest compiles the kernel again and reports the error
        return f"{name} {constants}: {str(e).splitlines()[0][:120] if str(e) else type(e).__name__}"
    return None


def warm_triton(jobs):
    """Starts to fill Triton's cache, and returns an object whose result() waits until the cache is full."""
    unique = {repr(j): j for j in jobs}
    if not unique:
        return None
    pool = concurrent.futures.ProcessPoolExecutor(min(WORKERS, len(unique)), multiprocessing.get_context("spawn"))
    futures = [pool.submit(_warm, j) for j in unique.values()]

    def wait():
        for f in futures:
            try:
                if f.result(timeout=240):
                    print("  triton: " + f.result(), flush=True)
            except Exception as e:
                print(f"  triton's compiler: {type(e).__name__}", flush=True)
                break
        pool.shutdown(wait=False, cancel_futures=True)
    return wait
