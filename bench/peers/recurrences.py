# SPDX-License-Identifier: MIT
"""recurrences.py: measures the kernels of linear recurrences in chunks (tests/programs/chunked_recurrences.py) of neso and Triton, at
sustained load.

    python3 bench/peers/recurrences.py OUT.json [WORK...]      a WORK: states, inputs, outputs, retention64, retention128, ssd_states,
                                                               ssd_scan

The sizes are those of real models. neso and Triton try the same tiles in a short trial, and each uses the fastest tile for itself.
Each result is compared with the result of Triton's first tile. The tensors of states and inputs are read and written once. So the
line of a work also names their bytes; the limit is the time of a device copy that moves as many bytes. BEFORE=FOLDER and VARIANTS add
contestants, as for loops.py.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("tests/programs", "bench/peers", "bench", "runtime/python")]
# Each tile consists of constants of the kernel, the number of warps, and the number of stages.
TILES = {"states": [(32, 4, 2), (32, 4, 3), (64, 4, 2), (64, 4, 3), (64, 4, 4), (64, 8, 3)],
         "inputs": [(64, 4, 2), (64, 4, 3), (64, 2, 3), (128, 4, 2), (128, 8, 2)],
         "outputs": [(64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2), (64, 128, 4, 3), (128, 128, 8, 2)],
         "retention64": [(32, 4, 3), (64, 4, 2), (64, 4, 3)],
         "retention128": [(64, 4, 2), (64, 4, 3), (128, 8, 2)],
         "ssd_states": [(32, 4, 2), (32, 4, 3), (32, 4, 4), (64, 4, 2), (64, 4, 3)],
         "ssd_scan": [(64, 32, 4, 3), (64, 64, 4, 3), (64, 64, 4, 4), (128, 64, 4, 3)]}


def halves(*shape, by=0.3):
    return (torch.randn(shape, device="cuda") * by).half()


class Delta:
    """The gated delta rule: 4 sequences of 4096 rows, 16 heads, chunks of 64 rows."""
    B, T, H, D, BT = 4, 4096, 16, 128, 64

    def __init__(self, work):
        rows = (self.B, self.T, self.H)
        self.kernel, chunks, heads = "delta_" + work, self.T // self.BT, self.B * self.H
        one, two, three, four = (halves(*rows, self.D) for _ in range(4))
        decay, beta, s = torch.zeros(rows, device="cuda"), torch.rand(rows, device="cuda"), halves(self.B, self.H, chunks, self.D, self.D)
        if work == "states":
            two *= 0.03  # the states stay finite
            self.args, self.out = [one, two, three, decay, four, s, self.T, self.H], [four, s]
            self.tile = lambda v: ((self.D // v, heads), [self.D, self.D, self.BT, v])
        elif work == "inputs":
            a = halves(*rows, self.BT)
            self.args, self.out = [one, two, beta, decay, a, three, four, self.T, self.H], [three, four]
            self.tile = lambda d: ((chunks, heads), [self.D, self.D, self.BT, d])
        else:
            o = torch.empty_like(one)
            self.args, self.out = [one, two, three, s, decay, o, self.T, self.H, 0.5], [o]
            self.tile = lambda k, v: ((self.D // v, chunks, heads), [self.D, self.D, self.BT, k, v])


class Retention:
    """4096 rows; heads with 8192 columns in all."""
    kernel = "retention"

    def __init__(self, work):
        d, rows = int(work[len("retention"):]), 4096
        heads = 8192 // d
        q, k, v = (halves(heads, rows, d) for _ in range(3))
        o = torch.empty_like(v)
        self.args, self.out = [q, k, v, o, rows, heads, 0.25], [o]
        self.tile = lambda values: ((d // values, heads), [d, d, 64, values])


class Ssd:
    """Mamba-2: 32 chunks of 256 rows, 32 heads."""

    def __init__(self, work):
        self.kernel, chunks, rows, heads, p, n = work, 32, 256, 32, 64, 128
        x, b = halves(chunks * rows, heads, p), halves(chunks * rows, n)
        s, a, dt = halves(chunks, heads, p, n), torch.zeros((heads, chunks * rows), device="cuda"), torch.rand((heads, chunks * rows), device="cuda")
        if work == "ssd_states":
            self.args, self.out = [x, b, dt, a, s, rows, heads], [s]
            self.tile = lambda k: ((chunks, heads), [p, n, k])
        else:
            o = torch.empty_like(x)
            self.args, self.out = [halves(chunks, rows, rows), x, dt, a, b, s, o, rows, heads], [o]
            self.tile = lambda m, k: ((rows // m, chunks, heads), [p, n, m, p, k])


def problem(work):
    return (Retention if work.startswith("retention") else Ssd if work.startswith("ssd") else Delta)(work)


def label(tile):
    return "x".join(map(str, tile[:-2])) + " w%d s%d" % tile[-2:]


def ours_of(module, p, tile, options):
    def make():
        grid, constants = p.tile(*tile[:-2])
        signature, values = compiling.specialize(p.args)
        text = ", ".join([signature] + [str(c) for c in constants])
        return module.kernel(p.kernel, text, num_warps=tile[-2], num_stages=tile[-1], **options).bind(grid, *values)
    return make


def triton_of(p, tile):
    grid, constants = p.tile(*tile[:-2])
    launch = getattr(chunked_recurrences, p.kernel)[grid]
    return lambda: lambda: launch(*p.args, *constants, num_warps=tile[-2], num_stages=tile[-1])


def row(results, modules, work):
    p, tiles = problem(work), TILES[work]
    triton_of(p, tiles[0])()()
    expected = [out.float() for out in p.out]

    def wrong(_):
        return next(filter(None, (contest.far_from(e, 1e-2)(out) for e, out in zip(expected, p.out))), None)
    made = {who: {label(t): ours_of(module, p, t, options) for t in tiles} for who, (module, options) in modules.items()}
    made["triton"] = {label(t): triton_of(p, t) for t in tiles}
    calls, labels = attend.fastest(made, p.out[0], wrong)
    size = sum(x.nbytes for x in p.args if isinstance(x, torch.Tensor))
    half = torch.empty(size // 2, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(half)
    calls["copy"], labels["copy"] = lambda: other.copy_(half), f"{size / 1e6:.0f} MB"
    attend.report(results, "recurrences", work, calls, labels)


def main():
    path, works = sys.argv[1], sys.argv[2:] or list(TILES)
    attend.each(row, contest.Results(path), loops.modules_of("tests/programs/chunked_recurrences.py"), works)


if __name__ == "__main__":
    import torch
    import attend
    import chunked_recurrences
    import compiling
    import contest
    import loops
    attend.torch, attend.contest = torch, contest
    main()
