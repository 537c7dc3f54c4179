# SPDX-License-Identifier: MIT
"""triton.profiler (Proton) in neso: measures kernels, with PyTorch's profiler, in a tree of scopes:

    proton.start("matmul", hook="triton")
    with proton.scope("step", {"flops16": 2e9}):     ROOT ── step ── matmul_kernel    count, time (ns), flops16
        kernel[grid](...)
    proton.finalize()                                # writes matmul.hatchet, which triton.profiler.viewer prints

With hook="triton", a launch of a Triton kernel has a node with the name and the numbers that its `launch_metadata` gives.
"""
import functools
import time

from .. import knobs
from .recording import Recorder, Session, enter, leave

DEFAULT_PROFILE_NAME = "proton"
_recorder = Recorder()


def __getattr__(name):
    raise AttributeError(f"neso's triton.profiler has no '{name}': it has start, activate, deactivate, finalize, profile, scope, cpu_timed_scope, "
                         "enter_scope and exit_scope")


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Begins a session, which records from now on, and returns its number."""
    if knobs.proton.disable:
        return None
    for what, given, possible in (("context", context, (None, "shadow")), ("data", data, (None, "tree")), ("backend", backend, (None, "cupti")),
                                  ("mode", mode, (None, "")), ("hook", hook, (None, "triton", "launch"))):
        if given not in possible:
            raise ValueError(f"neso's triton.profiler has no {what}={given!r}: it records trees of scopes with the times of kernels")
    return _recorder.add(Session(DEFAULT_PROFILE_NAME if name is None else name, hook is not None))


def activate(session=None):
    """Resumes the recording of a session (by default all)."""
    _recorder.switch(session, True)


def deactivate(session=None):
    """Stops the recording of a session (by default all), which keeps its data."""
    _recorder.switch(session, False)


def finalize(session=None, output_format=""):
    """Ends a session (by default all), and writes its file."""
    if output_format not in ("", "hatchet", None):
        raise ValueError(f"neso's triton.profiler writes no {output_format}, only hatchet files")
    _recorder.end(session)


class scope:
    """A context manager, and a decorator, for the kernels that belong together. `metrics` are added to the scope's numbers."""

    def __init__(self, name, metrics=None):
        self.name, self.metrics, self.marks = name, metrics, []

    def __enter__(self):
        self.marks.append(enter(_recorder, self.name, self.metrics))
        return self

    def __exit__(self, *exc):
        leave(self.marks.pop())

    def __call__(self, fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            with type(self)(self.name, self.metrics):
                return fn(*args, **kwargs)

        return wrapper


class cpu_timed_scope(scope):
    """A scope that also measures its time on the CPU."""

    def __enter__(self):
        self.start = time.perf_counter_ns()
        return super().__enter__()

    def __exit__(self, *exc):
        _recorder.count(self.marks[-1].path, {"cpu_time (ns)(exc)": time.perf_counter_ns() - self.start})
        super().__exit__(*exc)


_entered = []


def enter_scope(name, *, metrics=None):
    _entered.append(scope(name, metrics).__enter__())


def exit_scope(name=None, *, metrics=None):
    last = _entered.pop()
    if name is not None and name != last.name:
        raise ValueError(f"Scope name mismatch: {name} != {last.name}")
    if metrics:
        _recorder.count(last.marks[-1].path, metrics)
    last.__exit__()


def profile(fn=None, **options):
    """A decorator: a session for each call of the function."""
    if fn is None:
        return lambda fn: profile(fn, **options)

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        session = start(**options)
        result = fn(*args, **kwargs)
        if session is not None:
            deactivate(session)
        return result

    return wrapper
