# SPDX-License-Identifier: MIT
"""recording.py: finds which kernels ran in which scope.

While a session is active, PyTorch's profiler runs, and each scope is one of its annotations, `neso-scope N`. The profiler's trace has annotations and
launches with times and threads, and for each launch the kernel with the same correlation number:

    thread 7   [ neso-scope 0                                ]
                  [ neso-scope 1       ]   cuLaunchKernel 12
                    cuLaunchKernel 11            │
    GPU                    │ kernel 11: 5 us     └─ kernel 12: 3 us          scope 1: 5 us, scope 0: 8 us
"""
import json
import os
import tempfile
import threading

from .. import knobs
from ..runtime.driver import driver

PREFIX = "neso-scope "
_thread = threading.local()


class Node:
    def __init__(self, name):
        self.name, self.numbers, self.children = name, {}, {}

    def at(self, path):
        node = self
        for name in path:
            node = node.children.setdefault(name, Node(name))
        return node

    def count(self, numbers):
        for name, x in numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + x

    def as_hatchet(self):
        device = {"device_id": "0", "device_type": "CUDA"} if "time (ns)" in self.numbers else {}
        return {"frame": {"name": self.name, "type": "function"}, "metrics": {**self.numbers, **device},
                "children": [x.as_hatchet() for x in self.children.values()]}


class Session:
    def __init__(self, name, has_hook):
        self.name, self.has_hook, self.root, self.active = name, has_hook, Node("ROOT"), True

    def write(self):
        path = self.name if self.name.endswith(".hatchet") else f"{self.name}.hatchet"
        with open(path, "w") as f:
            json.dump([self.root.as_hatchet(), {"CUDA": {"0": {}}}], f)


class Mark:
    """A scope that a thread is in. `is_kernel`: the launch of one kernel, which has no node of its own below it."""

    def __init__(self, path, is_kernel, annotation):
        self.path, self.is_kernel, self.annotation = path, is_kernel, annotation


def _stack():
    if not hasattr(_thread, "stack"):
        _thread.stack = []
    return _thread.stack


def enter(recorder, name, metrics, is_kernel=False):
    stack = _stack()
    path = (*stack[-1].path, name) if stack else (name,)
    mark = Mark(path, is_kernel, None)
    if metrics:
        recorder.count(path, metrics)
    if recorder.profiler is not None:
        import torch
        mark.annotation = torch.profiler.record_function(f"{PREFIX}{recorder.number(mark)}")
        mark.annotation.__enter__()
    stack.append(mark)
    return mark


def leave(mark):
    stack = _stack()
    if mark in stack:
        stack.remove(mark)
    if mark.annotation is not None:
        mark.annotation.__exit__(None, None, None)


class Recorder:
    """All sessions, and PyTorch's profiler while one of them is active on a GPU."""

    def __init__(self):
        self.sessions, self.marks, self.profiler, self.next = {}, [], None, 0
        self.base = ()  # the scope in which the profiler was started

    def number(self, mark):
        self.marks.append(mark)
        return len(self.marks) - 1

    def active(self):
        return [s for s in self.sessions.values() if s.active]

    def count(self, path, numbers):
        for s in self.active():
            s.root.at(path).count(numbers)

    def add(self, session):
        self.stop()
        number, self.next = self.next, self.next + 1
        self.sessions[number] = session
        self.resume()
        return number

    def switch(self, number, active):
        self.stop()
        for i, s in self.sessions.items():
            if number in (None, i):
                s.active = active
        self.resume()

    def end(self, number):
        self.stop()
        for i in [i for i in self.sessions if number in (None, i)]:
            self.sessions.pop(i).write()
        self.resume()

    def resume(self):
        sessions = self.active()
        if any(s.has_hook for s in sessions):
            knobs.runtime.launch_enter_hook.add(self.launch_begins)
            knobs.runtime.launch_exit_hook.add(self.launch_ends)
        if sessions and driver.active.where == "cuda" and driver.active.torch is not None:
            from torch.profiler import ProfilerActivity, profile
            self.marks, self.base = [], _stack()[-1].path if _stack() else ()
            self.profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
            self.profiler.__enter__()

    def stop(self):
        for chain, hook in ((knobs.runtime.launch_enter_hook, self.launch_begins), (knobs.runtime.launch_exit_hook, self.launch_ends)):
            if hook in chain.calls:
                chain.remove(hook)
        if self.profiler is None:
            return
        driver.active.torch.cuda.synchronize()
        self.profiler.__exit__(None, None, None)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            self.profiler.export_chrome_trace(path)
            with open(path) as f:
                events = json.load(f)["traceEvents"]
        self.profiler = None
        for s in self.active():
            add_kernels(s.root, events, self.marks, self.base)

    def launch_begins(self, metadata):
        data = metadata.get()
        numbers = {k: data[k] for k in ("flops8", "flops16", "flops32", "flops64", "flops", "bytes") if k in data}
        _thread.launch = enter(self, data["name"], numbers, True)

    def launch_ends(self, metadata):
        leave(_thread.launch)


def add_kernels(root, events, marks, base=()):
    """Adds the kernels of a trace to the nodes of the scopes in which they were launched, `base` for launches outside all scopes of the trace."""
    kernels, launches, scopes = {}, [], []
    for e in events:
        kind, args = e.get("cat"), e.get("args") or {}
        if kind == "kernel":
            kernels[args.get("correlation")] = e
        elif kind in ("cuda_runtime", "cuda_driver"):
            launches.append((e["ts"], 1, e["tid"], args.get("correlation")))
        elif kind == "user_annotation" and e.get("name", "").startswith(PREFIX):
            mark = marks[int(e["name"][len(PREFIX):])]
            scopes += [(e["ts"], 0, e["tid"], mark), (e["ts"] + e["dur"], 2, e["tid"], mark)]
    inside = {}
    for _, kind, thread, x in sorted(launches + scopes, key=lambda event: event[:2]):
        stack = inside.setdefault(thread, [])
        if kind == 0:
            stack.append(x)
        elif kind == 2:
            stack.remove(x)
        elif x in kernels:
            e = kernels.pop(x)
            mark = stack[-1] if stack else Mark(base, False, None)
            path = mark.path if mark.is_kernel else (*mark.path, e["name"])
            root.at(path).count({"count": 1, "time (ns)": round(1000 * e["dur"])})
