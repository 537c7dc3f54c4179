# SPDX-License-Identifier: MIT
"""attend.py: measures forward attention (bench/programs/attention.py) of neso, Triton and cuDNN (called by PyTorch), at sustained load.

    python3 bench/peers/attend.py OUT.json [SHAPE...]      a SHAPE: heads x rows x D, followed by `c` if causal, and by `gN` if
                                                            N heads of Q share a head of K and V: 128x4096x64c, 128x4096x128cg8

neso and Triton try the same tile sizes in a short trial, and each uses the fastest size for itself. Then blocks of launches alternate,
in a new random order in each round. The first half of a block is not counted, because its clock rate still depends on the preceding
block. VARIANTS="skip=sink;fp_reassoc=1;fp_reassoc=1+params=A=1" adds contestants.
"""
import os
import random
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("bench/programs", "bench/peers", "bench", "runtime/python")]
SHAPES = ["128x4096x128", "128x4096x128c", "128x4096x64", "128x4096x64c", "32x16384x128", "32x16384x128c", "32x16384x64", "32x16384x64c"]
# BM, BN, warps, stages
TILES = {128: [(128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 8, 4), (64, 64, 4, 3)],
         64: [(128, 128, 8, 3), (128, 128, 8, 2), (128, 64, 4, 3), (64, 128, 4, 2), (128, 64, 8, 4)]}
BLOCK_MS, ROUNDS = 60, 6


def variants():
    found = {"neso": {}}
    for text in filter(None, os.environ.get("VARIANTS", "").split(";")):
        options = dict(part.split("=", 1) for part in text.split("+"))
        found["neso " + text] = {name: int(value) if value.isdigit() else value for name, value in options.items()}
    return found


def sustained(calls, block_ms=BLOCK_MS, rounds=ROUNDS):
    """Returns {name: (median milliseconds, median of each round)} for {name: call}, measured at sustained load."""
    event = lambda: torch.cuda.Event(enable_timing=True)  # noqa: E731
    repeats, times = {}, {name: [] for name in calls}
    for name, call in calls.items():
        start, end = event(), event()
        start.record()
        for _ in range(3):
            call()
        end.record()
        torch.cuda.synchronize()
        repeats[name] = max(4, int(block_ms * 3 / start.elapsed_time(end)))
    for _ in range(rounds):
        for name in random.sample(list(calls), len(calls)):
            marks = [event() for _ in range(repeats[name] + 1)]
            marks[0].record()
            for mark in marks[1:]:
                calls[name]()
                mark.record()
            torch.cuda.synchronize()
            each = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
            times[name].append(statistics.median(each[len(each) // 2:]))
    return {name: (statistics.median(t), t) for name, t in times.items()}


def parse(shape):
    heads, n, d, causal, _, group = re.fullmatch(r"(\d+)x(\d+)x(\d+)(c?)(g(\d+))?", shape).groups()
    return int(heads), int(n), int(d), causal == "c", int(group or 1)


class Problem:
    def __init__(self, shape, dtype=None):
        self.heads, self.n, self.d, self.causal, self.group = parse(shape)
        make = lambda heads: torch.randn(heads, self.n, self.d, device="cuda").to(dtype or torch.float16)  # noqa: E731
        self.q, self.k, self.v = make(self.heads), make(self.heads // self.group), make(self.heads // self.group)
        self.o, self.lse = torch.empty_like(self.q), torch.empty(self.heads, self.n, device="cuda")
        self.scale = self.d ** -0.5
        self.args = [self.q, self.k, self.v, self.o, self.lse, self.scale, self.n]
        self.expected = self.reference()

    def reference(self):
        with torch.no_grad():
            return torch.nn.functional.scaled_dot_product_attention(self.q[None], self.k[None], self.v[None], is_causal=self.causal,
                                                                    scale=self.scale, enable_gqa=self.group > 1)[0].float()

    def cudnn(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        q, k, v = self.q[None], self.k[None], self.v[None]

        def call():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale,
                                                                        enable_gqa=self.group > 1)
        return lambda: call

    def ours(self, ours, tile, desc, options):
        bm, bn, warps, stages = tile
        signature, values = compiling.specialize(self.args)
        text = ", ".join([signature, str(self.causal), str(desc), str(bm), str(bn), str(self.d), str(self.group)])
        future = ours.start("attention", "forward", text, num_warps=warps, num_stages=stages, **options)
        return lambda: future.result().bind((self.n // bm, self.heads), *values)

    def triton(self, tile, desc):
        bm, bn, warps, stages = tile
        grid = (self.n // bm, self.heads)
        return lambda: lambda: attention.forward[grid](*self.args, self.causal, desc, bm, bn, self.d, self.group, num_warps=warps,
                                                       num_stages=stages)


def label(tile, desc):
    bm, bn, warps, stages = tile
    return f"{bm}x{bn} w{warps} s{stages}" + (" desc" if desc else "")


def jobs():
    return [("attention", "forward", ["fp16"] * 4 + ["fp32", 0.125, 4096, causal, desc, *tile[:2], d], {},
             {"num_warps": tile[2], "num_stages": tile[3]})
            for d, tiles in TILES.items() for tile in tiles for causal in (False, True) for desc in (False, True)]


def fastest(made, result, wrong):
    """Returns ({contestant: call}, {contestant: label}) of each contestant's fastest candidate in a short trial."""
    calls, labels = {}, {}
    for who, candidates in made.items():
        ready, errors = contest._ready(contest.Contestant(who, candidates, None if who == "cudnn" else result, wrong))
        for name, why in errors.items():
            print(f"    {who} {name}: {why}", flush=True)
        trial = {name: t[0] for name, t in sustained(ready, 40, 2).items()}
        print(f"    {who}: " + "  ".join(f"{name} {1e3 * ms:.0f}" for name, ms in sorted(trial.items(), key=lambda x: x[1])), flush=True)
        if trial:
            labels[who] = min(trial, key=trial.get)
            calls[who] = ready[labels[who]]
    return calls, labels


def report(results, group, shape, calls, labels, flop=None):
    """Measures the calls at sustained load; prints a line for each, and adds it to the results."""
    times = sustained(calls)
    for who, (ms, each) in times.items():
        part = {f"/{base}": round(times[base][0] / ms, 3) for base in ("cudnn", "triton") if base in times}
        results.add({"group": group, "work": shape, "who": who, "config": labels[who], "ms": ms, "rounds": each, **part})
        rate = f" {flop / ms / 1e9:6.1f} TFLOP/s" if flop else ""
        print(f"{shape:15} {who:30} {labels[who]:20} {1e3 * ms:9.1f} us{rate}  {part}", flush=True)


def row(results, ours, shape):
    p = Problem(shape)
    made = {who: {label(t, desc): p.ours(ours, t, desc, options) for t in TILES[p.d] for desc in (False, True)}
            for who, options in variants().items()}
    made["triton"] = {label(t, desc): p.triton(t, desc) for t in TILES[p.d] for desc in (False, True)}
    made["cudnn"] = {"": p.cudnn()}
    calls, labels = fastest(made, p.o, lambda x: contest.far_from(p.expected, 2e-3)(x.reshape(p.expected.shape)))
    report(results, "attention", shape, calls, labels, 4 * p.heads * p.n * p.n * p.d * (0.5 if p.causal else 1))


def each(row, results, ours, works):
    """Measures a row for each work. A row that fails prints its error, and the next row follows."""
    torch.manual_seed(0)
    for work in works:
        try:
            row(results, ours, work)
        except Exception as e:
            print(f"{work}: {contest.first_line(e)}", flush=True)
        torch.cuda.empty_cache()


def measure(row, jobs, shapes):
    """Measures a row for each shape on the command line, or for each of `shapes`."""
    path, shapes = sys.argv[1], sys.argv[2:] or shapes
    results, ours = contest.Results(path), compiling.Ours()
    compiling.warm_triton(jobs)()
    each(row, results, ours, shapes)


if __name__ == "__main__":
    import attention
    import torch
    import compiling
    import contest
    import products
    products.allocate_for_descriptors()
    measure(row, jobs(), SHAPES)
