# SPDX-License-Identifier: MIT
"""triton.runtime._async_compile in neso: compiles kernels in an executor's threads; a launch waits for its kernel.

    with triton.AsyncCompileMode(ThreadPoolExecutor()):
        kernel.warmup(...)          returns at once; all kernels are compiled at the end of the block
"""
from concurrent.futures import as_completed
from contextvars import ContextVar

active_mode = ContextVar("async_compile_active_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled. `finish` is called once, with the compiled kernel."""

    def __init__(self, finalize_compile, future):
        self.finalize_compile, self.future, self.kernel = finalize_compile, future, None

    def result(self, ignore_errors=False):
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if ignore_errors:
                    return None
                raise
            self.finalize_compile(kernel)
            self.kernel = kernel
        return self.kernel


class AsyncCompileMode:
    def __init__(self, executor, *, ignore_errors=False):
        self.executor, self.ignore_errors = executor, ignore_errors
        self.raw_futures, self.future_kernels = [], {}

    def submit(self, key, compile_fn, finalize_fn):
        if key not in self.future_kernels:
            future = self.executor.submit(compile_fn)
            future._key = key
            self.raw_futures.append(future)
            self.future_kernels[key] = FutureKernel(finalize_fn, future)
        return self.future_kernels[key]

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *exc):
        try:
            for future in as_completed(self.raw_futures):
                self.future_kernels[future._key].result(self.ignore_errors)
        finally:
            active_mode.set(None)
