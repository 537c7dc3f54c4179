# SPDX-License-Identifier: MIT
"""loops.py: measures the kernels of bench/programs/dot_loops.py, compiled by neso and by Triton, at sustained load: with each tile
size, and with the best tile size of each compiler.

    python3 bench/peers/loops.py OUT.json [WORK...]        a WORK: fp8, gathered

BEFORE=FOLDER adds another commit, which is built in that folder; VARIANTS is as for attend.py. cuBLAS multiplies fp8 with only one scale
for each matrix.
"""
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("bench/programs", "bench/peers", "bench", "runtime/python")]
# BM, BN, BK, warps, stages
TILES = {"fp8": [(128, 128, 128, 8, 3), (128, 128, 128, 8, 4), (128, 128, 128, 8, 5), (128, 128, 128, 8, 6), (64, 128, 128, 4, 3), (64, 128, 128, 4, 4), (128, 64, 128, 4, 3),
                 (128, 128, 128, 4, 3)],
         "gathered": [(128, 128, 64, 8, 3), (128, 128, 64, 4, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 3), (64, 64, 64, 4, 4)]}


def package(folder, name):
    """Returns the Python package of the build in a folder, imported under a separate name."""
    where = os.path.join(folder, "runtime", "python", "neso")
    spec = importlib.util.spec_from_file_location(name, os.path.join(where, "__init__.py"), submodule_search_locations=[where])
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


class Fp8:
    kernel = "scaled"

    def __init__(self, n=4096):
        a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
        sa, sb = torch.rand(n, n // 128, device="cuda"), torch.rand(n // 128, n // 128, device="cuda")
        self.c = torch.empty(n, n, device="cuda", dtype=torch.float16)
        self.args, self.size = [a, b, sa, sb, self.c, n, n, n], (n, n)
        wide = (a.float() * sa.repeat_interleave(128, 1), b.float() * sb.repeat_interleave(128, 0).repeat_interleave(128, 1))
        self.expected = wide[0] @ wide[1].t()
        self.flop, one = 2 * n ** 3, torch.ones((), device="cuda")
        self.others = {"cublas, one scale": lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)}


class Gathered:
    kernel = "gathered"

    def __init__(self, rows=3968, experts=8, n=4096, k=2048):
        a = torch.randn(rows, k, device="cuda").half()
        b = (torch.randn(experts, k, n, device="cuda") / k ** 0.5).half()
        of = (torch.arange(rows // 128, device="cuda") * experts // (rows // 128)).int()
        table = torch.randperm(rows, device="cuda").int()
        self.c = torch.empty(rows, n, device="cuda", dtype=torch.float16)
        self.args, self.size = [a, b, self.c, table, of, rows, n, k], (rows, n)
        self.expected = torch.cat([a[table[128 * i:128 * i + 128].long()].float() @ b[int(e)].float() for i, e in enumerate(of)])
        self.flop, self.others = 2 * rows * n * k, {}


WORKS = {"fp8": Fp8, "gathered": Gathered}


def label(tile):
    return "{}x{}x{} w{} s{}".format(*tile)


def ours_of(module, p, tile, options):
    signature, values = compiling.specialize(p.args)
    text = ", ".join([signature, *map(str, tile[:3])])

    def make():
        kernel = module.kernel(p.kernel, text, num_warps=tile[3], num_stages=tile[4], **options)
        return kernel.bind((p.size[1] // tile[1], p.size[0] // tile[0]), *values)
    return make


def triton_of(p, tile):
    grid = (p.size[1] // tile[1], p.size[0] // tile[0])
    return lambda: lambda: getattr(dot_loops, p.kernel)[grid](*p.args, *tile[:3], num_warps=tile[3], num_stages=tile[4])


def row(results, modules, work):
    p, tiles = WORKS[work](), TILES[work]
    made = {who: {label(t): ours_of(module, p, t, options) for t in tiles} for who, (module, options) in modules.items()}
    made["triton"] = {label(t): triton_of(p, t) for t in tiles}
    calls, each = {}, {}
    for who, candidates in made.items():
        c = contest.Contestant(who, candidates, p.c, contest.far_from(p.expected, 2e-2))
        ready, errors = contest._ready(c)
        for name, why in errors.items():
            print(f"    {who} {name}: {why}", flush=True)
        calls.update({(who, name): call for name, call in ready.items()})
    calls.update({(who, ""): call for who, call in p.others.items()})
    for key, (ms, _) in attend.sustained(calls, 20, 3).items():
        each[key] = ms
    best = {who: min((k for k in each if k[0] == who), key=each.get) for who, _ in each}
    times = attend.sustained({who: calls[key] for who, key in best.items()})
    for t in map(label, tiles):
        print(f"{work:9} {t:20} " + "  ".join(f"{who} {1e3 * each[who, t]:.1f}" for who in made if (who, t) in each), flush=True)
    for who, (ms, rounds) in times.items():
        part = {f"/{base}": round(times[base][0] / ms, 3) for base in times if base != who}
        tried = {name: ms for (x, name), ms in each.items() if x == who}
        results.add({"group": "loops", "work": work, "who": who, "config": best[who][1], "ms": ms, "rounds": rounds, "tiles": tried, **part})
        print(f"{work:9} {who:24} {best[who][1]:20} {1e3 * ms:8.1f} us {p.flop / ms / 1e9:7.1f} TFLOP/s  {part}", flush=True)


def modules_of(source):
    """Returns {contestant: (its module of the source file, the options of its compilations)}. The contestants are neso, each of
    VARIANTS, and the build in the folder BEFORE."""
    import attend
    import neso
    source = os.path.join(ROOT, source)
    now = neso.Context("cuda").module(source)
    found = {name: (now, options) for name, options in attend.variants().items()}
    if os.environ.get("BEFORE"):
        found["before"] = (package(os.environ["BEFORE"], "neso_before").Context("cuda").module(source), {})
    return found


def main():
    path, works = sys.argv[1], sys.argv[2:] or list(WORKS)
    attend.each(row, contest.Results(path), modules_of("bench/programs/dot_loops.py"), works)


if __name__ == "__main__":
    import dot_loops
    import torch
    import attend
    import compiling
    import contest
    attend.torch, attend.contest = torch, contest
    main()
