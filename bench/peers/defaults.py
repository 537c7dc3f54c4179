# SPDX-License-Identifier: MIT
"""defaults.py: measures kernels with the tiles that people write, not with the best tile of a list. The programs below are compiled by
neso and by Triton with the same tile, warps and stages. Their launches alternate at random in one process, at sustained load.

    python3 bench/peers/defaults.py OUT.json [WORD...]      the rows whose names contain a WORD

A row is a call of triton.testing.do_bench in a program. The first row of each kernel and problem has the tile of tutorials and public
code, and is marked with a star. The means cover only the rows with stars. This file checks no results; the programs in tests/programs
check them. VARIANTS is as for attend.py.
"""
import contextlib
import io
import math
import os
import runpy
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("bench/programs", "bench/peers", "bench", "runtime/python")]
# programs, relative to bench/programs, whose rows are measured
PROGRAMS = ["users", "../../tests/programs/chunked_recurrences", "../../tests/programs/attention_backward"]
WARMERS = min(8, os.cpu_count() or 1)  # processes that compile with Triton
OPTIONS = ("num_warps", "num_stages")


def halves(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def row(name, call):
    do_bench(call)


def attention_rows():
    import attention
    for d, causal in ((64, False), (64, True), (128, False), (128, True)):
        heads, n = 8192 // d, 4096
        q, k, v, o, lse = *(halves(heads, n, d) for _ in range(4)), torch.empty(heads, n, device="cuda")
        for bm, bn, warps, stages in ((128, 64, 4 if d == 64 else 8, 3), (128, 64 if d == 64 else 32, 4, 4 if d == 64 else 3), (64, 32, 4, 2)):
            row(f"tutorial attention {d}{' causal' if causal else ''}, {bm}x{bn}, {warps} warps, {stages} stages",
                lambda: attention.forward[(n // bm, heads)](q, k, v, o, lse, d ** -0.5, n, causal, False, bm, bn, d, num_warps=warps,
                                                            num_stages=stages))


def loop_rows():
    import dot_loops
    import loops
    loops.torch = torch
    for work, kind, tiles in (("fp8, scales of blocks", loops.Fp8, ((64, 128, 128, 4, 3), (128, 128, 128, 8, 3))),
                              ("gathered rows", loops.Gathered, ((64, 64, 32, 4, 3), (128, 128, 64, 8, 3), (64, 128, 64, 4, 3)))):
        p = kind()
        for bm, bn, bk, warps, stages in tiles:
            row(f"{work}, {bm}x{bn}x{bk}, {warps} warps",
                lambda: getattr(dot_loops, p.kernel)[(p.size[1] // bn, p.size[0] // bm)](*p.args, bm, bn, bk, num_warps=warps, num_stages=stages))


def uneven_rows():
    import users
    for m, n, k in ((4100, 4100, 4100), (4101, 4101, 4101), (300, 4100, 4100)):
        a, b, c = halves(m, k), halves(k, n), halves(m, n)
        for bm, bn, bk, warps, stages in ((128, 256, 64, 8, 3), (128, 128, 32, 4, 4)):
            row(f"matmul {m}x{n}x{k}, {bm}x{bn}x{bk}, {warps} warps",
                lambda: users.matmul[(-(-m // bm) * -(-n // bn),)](a, b, c, m, n, k, k, 1, n, 1, n, 1, bm, bn, bk, 8, num_warps=warps,
                                                                   num_stages=stages))


def key_of(kernel, bound):
    """Returns a key of the problem: all arguments but the integer constants, which are tile sizes."""
    constants = {p.name for p in kernel.params if p.is_constexpr}
    return (kernel.fn.__name__, *(tuple(a.shape) if hasattr(a, "shape") else a for name, a in bound.items()
                                  if name not in constants or isinstance(a, bool)))


def recorded(program, rows):
    """Appends the rows of a program: (name, (kernel, grid, arguments by name, options))."""
    def run(kernel, *args, grid, warmup, **options):
        mine = {o: options.pop(o) for o in OPTIONS if o in options}
        bound = kernel.signature.bind(*args, **options)
        bound.apply_defaults()
        rows.append([kernel, grid, dict(bound.arguments), mine])

    def record(call, **_):
        before, triton.runtime.JITFunction.run = triton.runtime.JITFunction.run, run
        name = sys._getframe(1).f_locals["name"]  # every program's function `row` has a variable `name`
        try:
            call()
        finally:
            triton.runtime.JITFunction.run = before
        rows[-1].insert(0, name)
        return 1.0

    global do_bench
    do_bench = triton.testing.do_bench = record
    with contextlib.redirect_stdout(io.StringIO()):  # the programs print times
        if callable(program):
            program()
        else:
            sys.argv = [program, "time"]
            runpy.run_path(os.path.join(HERE, "..", "programs", program + ".py"), run_name="__main__")


def all_rows(words):
    rows, seen = [], set()
    for program in (*PROGRAMS, attention_rows, loop_rows, uneven_rows):
        recorded(program, rows)
    for r in rows:
        key = key_of(r[1], r[3])
        r.append(key not in seen)
        seen.add(key)
    return [r for r in rows if not words or any(w in r[0] for w in words)]


def triton_call(kernel, grid, bound, options):
    return lambda: kernel[grid](**bound, **options)


def started(ours, kernel, bound, options, variant):
    """Starts neso's compilation, and returns (the future, the values that a launch passes)."""
    source = os.path.relpath(os.path.abspath(kernel.fn.__code__.co_filename), os.path.join(HERE, "..", "programs"))[:-len(".py")]
    entries, values = [], []
    for p in kernel.params:
        a = bound[p.name]
        entry, value = (str(a), []) if p.is_constexpr else compiling.specialize([a])
        entries.append(entry)
        values += value
    return ours.start(source, kernel.fn.__name__, ", ".join(entries), **options, **variant), values


def warm(part, words):
    """Fills Triton's cache with one part of the rows."""
    for _, kernel, grid, bound, options, _ in all_rows(words)[part::WARMERS]:
        try:
            triton_call(kernel, grid, bound, options)()
        except Exception as e:
            print(f"    triton: {contest.first_line(e)}", flush=True)
    torch.cuda.synchronize()


def measure(results, rows, made):
    parts = {}
    for (name, kernel, grid, bound, options, is_default), futures in zip(rows, made):
        try:
            calls = {"triton": triton_call(kernel, grid, bound, options)}
            calls.update({who: f.result().bind(grid, *values) for who, (f, values) in futures.items()})
            times = {who: ms for who, (ms, _) in attend.sustained(calls, 40, 5).items()}
        except Exception as e:  # for example, a tile needs too much shared memory
            print(f"  {name}: {contest.first_line(e)}", flush=True)
            continue
        text = ""
        for who in futures:
            parts.setdefault(who, []).append((times["triton"] / times[who], is_default))
            text += f"  {who} {1e3 * times[who]:.1f} ({parts[who][-1][0]:.3f})"
        results.add({"group": "defaults", "work": name, "default": is_default, "us": {who: round(1e3 * t, 2) for who, t in times.items()}})
        print(f"{'*' if is_default else ' '} {name:52} triton {1e3 * times['triton']:.1f}{text}", flush=True)
    for who, found in parts.items():
        stars = [x for x, is_default in found if is_default] or [x for x, _ in found]
        print(f"{who}: {len(stars)} defaults, geometric mean {math.exp(sum(map(math.log, stars)) / len(stars)):.3f} of Triton, least {min(stars):.3f}, "
              f"{sum(x < 0.97 for x in stars)} under 0.97; all {len(found)} rows: least {min(x for x, _ in found):.3f}", flush=True)


def main():
    path, *words = sys.argv[1:]
    if path == "warm":
        warm(int(words[0]), words[1:])
        return
    children = [subprocess.Popen([sys.executable, __file__, "warm", str(i), *words]) for i in range(WARMERS)]
    results, ours = contest.Results(path), compiling.Ours()
    torch.manual_seed(0)
    rows = all_rows(words)
    made = [{who: started(ours, kernel, bound, options, variant) for who, variant in attend.variants().items()}
            for _, kernel, _, bound, options, _ in rows]
    for child in children:
        child.wait()
    measure(results, rows, made)


if __name__ == "__main__":
    import attend
    import compiling
    import contest
    import torch
    import triton
    attend.torch = torch
    main()
