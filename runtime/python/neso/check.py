# SPDX-License-Identifier: MIT
"""check.py: implements python -m neso --check PROGRAM: each launch runs with neso and with the original Triton, and check.py compares the
memory of all its tensors.

Integers must be equal. A float x may differ by at most BOUND of its type times (|x| + the root mean square of the written values), because
the language does not define the order of sums, fused multiply-adds and approximate functions. If elements differ, the original runs once
more; elements that differ between the original's two runs are not reported. The program continues with the original's results.
"""
import atexit
import os
import sys

BOUND = {"float64": 1e-11, "float32": 5e-3, "float16": 4e-3, "bfloat16": 3e-2, "float8_e4m3fn": 0.15, "float8_e5m2": 0.3}
_seen = {"launches": 0, "differing": {}, "unchecked": {}}


def is_on():
    return os.environ.get("NESO_CHECK", "0") not in ("", "0")


def report():
    n, differing, unchecked = _seen["launches"], _seen["differing"], _seen["unchecked"]
    sys.stderr.write(f"neso: {n} launches were compared with the original Triton's; {len(differing)} kernels differ\n")
    for name, text in differing.items():
        sys.stderr.write(f"    {name}: {text}\n")
    for name, text in unchecked.items():
        sys.stderr.write(f"    {name}: not compared: {text}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    if differing:
        os._exit(1)  # a difference must make the exit status 1, although the program itself succeeded


class Memory:
    """Returns the storages of the tensors of a launch, as pairs (storage, element type)."""

    def __init__(self, values):
        self.storages, seen = [], set()
        for x in values:
            self._add(x, seen)

    def _add(self, x, seen):
        x = getattr(x, "base", x) if type(x).__name__ in ("TensorWrapper", "TensorDescriptor") else x
        if isinstance(x, tuple):
            for y in x:
                self._add(y, seen)
        elif hasattr(x, "untyped_storage") and x.untyped_storage().data_ptr() not in seen:
            seen.add(x.untyped_storage().data_ptr())
            self.storages.append((x.untyped_storage(), x.dtype))

    def read(self):
        return [s.clone() for s, _ in self.storages]

    def write(self, contents):
        for (s, _), data in zip(self.storages, contents):
            s.copy_(data)


def elements(storage, dtype):
    import torch
    flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    size = torch.empty(0, dtype=dtype).element_size()
    return flat[:flat.numel() // size * size].view(dtype)


def off(found, expected, before, dtype):
    """Returns a mask of the elements that differ by more than the bound; None if there are none."""
    import torch
    f, e = elements(found, dtype), elements(expected, dtype)
    bound = BOUND.get(str(dtype).split(".")[-1])
    if bound is None:
        wrong = elements(found, torch.uint8) != elements(expected, torch.uint8)
        return wrong if bool(wrong.any()) else None
    f, e, b = f.double(), e.double(), elements(before, dtype).double()
    written = e[(e != b) & e.isfinite()]
    scale = written.square().mean().sqrt() if written.numel() else 0.0
    wrong = ((f - e).abs() > bound * (e.abs() + scale)) | (f.isnan() != e.isnan()) | (f.isinf() != e.isinf())
    wrong &= f != e
    wrong &= ~(f.isnan() & e.isnan())
    return wrong if bool(wrong.any()) else None


def launch(fn, args, kwargs, grid, values, run):
    """Makes one launch with both compilers; `run` makes the launch with neso."""
    from . import original
    name = f"{fn.fn.__module__}.{fn.fn.__qualname__}"
    if _seen["launches"] == 0 and not _seen["unchecked"]:
        atexit.register(report)
    memory = Memory(values)
    before = memory.read()
    run()
    found = memory.read()
    memory.write(before)
    try:
        original.launch(fn, args, kwargs, grid)
    except original.NotInstalled:
        raise
    except Exception as e:
        memory.write(found)
        _seen["unchecked"].setdefault(name, f"the original fails: {type(e).__name__}: {(str(e).splitlines() or ['?'])[0][:200]}")
        return
    _seen["launches"] += 1
    expected = memory.read()
    masks = [off(f, e, b, dtype) for f, e, b, (_, dtype) in zip(found, expected, before, memory.storages)]
    if any(m is not None for m in masks):
        memory.write(before)
        original.launch(fn, args, kwargs, grid)
        compare_again(name, memory, masks, found, expected, memory.read(), before)
        memory.write(expected)


def compare_again(name, memory, masks, found, expected, again, before):
    for i, (mask, (_, dtype)) in enumerate(zip(masks, memory.storages)):
        varied = off(again[i], expected[i], before[i], dtype) if mask is not None else None
        if mask is None or varied is not None:
            continue
        at = int(mask.nonzero()[0])
        if dtype.is_floating_point:
            words = f"{elements(found[i], dtype)[at].item()} is not {elements(expected[i], dtype)[at].item()}"
        else:
            words = "bytes differ"
        _seen["differing"].setdefault(name, f"{int(mask.sum())} of {mask.numel()} elements of tensor {i} ({dtype}) differ, first element "
                                            f"{at}: {words}")
