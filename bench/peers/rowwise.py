# SPDX-License-Identifier: MIT
"""rowwise.py: measures row-wise kernels and vector add of neso, Triton (same source) and PyTorch, and a copy in device
memory."""
import compiling
import kernels
import memory
from contest import Contestant, run

LOOPS = [(2048, 4, 1), (2048, 4, 3), (2048, 8, 3), (1024, 4, 3)]  # BLOCK_SIZE, warps, stages for a kernel that loops over its row


def choices(work):
    """Returns the (constants, warps, stages) that both compilers try; stages have no effect in kernels without a loop."""
    tried = [(work.constants, w, 3) for w in work.warps]
    if work.kernel == "layer_norm":
        tried += [((block,), w, s) for block, w, s in LOOPS if block < work.constants[0]]
    return tried


def label(choice):
    constants, warps, stages = choice
    return f"{constants[0]} w{warps} s{stages}"


def jobs(group):
    """Returns the group's kernels as jobs for Triton's compiler."""
    found = []
    for name in GROUPS[group]:
        make, sizes = memory.WORKS[name]
        for n in sizes:
            work = make(n)
            found += [("kernels", work.kernel, compiling.for_triton(work.args) + list(c), {}, {"num_warps": w, "num_stages": s})
                      for c, w, s in choices(work)]
    return found


def ours_of(ours, work, choice):
    constants, warps, stages = choice
    signature = ", ".join([work.signature] + [str(c) for c in constants])
    future = ours.start("kernels", work.kernel, signature, num_warps=warps, num_stages=stages)
    values = [a.data_ptr() if hasattr(a, "data_ptr") else a for a in work.args]
    return lambda: future.result().bind(work.grid, *values)


def triton_of(work, choice):
    constants, warps, stages = choice
    kernel = getattr(kernels, work.kernel)
    return lambda: lambda: kernel[work.grid](*work.args, *constants, num_warps=warps, num_stages=stages)


def row(results, ours, group, name, n):
    work = memory.WORKS[name][0](n)
    output = work.args[{"softmax": 0, "add": 2}.get(work.kernel, 1)]

    def wrong(_):
        try:
            work.check()
        except AssertionError as e:
            return "wrong: " + " ".join(str(e).split())[:120]
        return None
    anything = lambda _: None  # noqa: E731
    contestants = [Contestant("neso", {label(c): ours_of(ours, work, c) for c in choices(work)}, output, wrong),
                   Contestant("triton", {label(c): triton_of(work, c) for c in choices(work)}, output, wrong),
                   Contestant("torch", {"": lambda: work.torch_call}, None, anything),
                   Contestant("copy", {"": lambda: memory.copy_of(work.nbytes)}, None, anything)]
    run(results, group, work.name, "GB/s", work.nbytes / 1e6, contestants, "copy", 21, 12)


GROUPS = {"softmax": ("softmax",), "norms": ("layer_norm", "layer_norm_row", "rms_norm"), "add": ("add",)}


def rows(group):
    return [(row, group, name, n) for name in GROUPS[group] for n in memory.WORKS[name][1]]
