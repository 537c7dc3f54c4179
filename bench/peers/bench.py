# SPDX-License-Identifier: MIT
"""bench.py: measures every row of the README's tables for all contestants, alternately in one
process.

    python3 bench/peers/bench.py OUT.json [GROUP...]

Groups: announced, layouts, types, decode, softmax, norms, add (all of these if none is given), and
mma. OUT.json is written after each row; `python3 bench/report.py OUT.json` judges it. bench.py
does not begin a group, and prints a message, if more than seven minutes have passed.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
for folder in (HERE, os.path.join(ROOT, "runtime", "python"), os.path.join(ROOT, "bench", "programs"), os.path.join(ROOT, "bench")):
    if folder not in sys.path:
        sys.path.insert(0, folder)
LAST_START_S = 420


def main():
    started = time.time()
    import compiling
    import contest
    import products
    import report
    import rowwise
    import torch
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    products.allocate_for_descriptors()
    groups = {"announced": products.announced_rows, "layouts": products.layout_rows, "types": products.type_rows,
              "decode": products.decode_rows, **{g: lambda g=g: rowwise.rows(g) for g in rowwise.GROUPS}}
    path, names = sys.argv[1], sys.argv[2:] or list(groups)
    groups["mma"] = products.mma_rows
    unknown = [n for n in names if n not in groups]
    if unknown:
        sys.exit(f"there is no group {unknown[0]}: {', '.join(groups)}")
    results, ours = contest.Results(path), compiling.Ours()
    jobs_of = {"announced": products.announced_jobs, "mma": products.mma_jobs,
               **{g: lambda g=g: rowwise.jobs(g) for g in rowwise.GROUPS}}
    jobs = [j for g in names if g in jobs_of for j in jobs_of[g]()]
    wait = compiling.warm_triton(jobs)
    if wait:
        wait()
    print(f"Triton has compiled {len(jobs)} kernels after {time.time() - started:.0f} s", flush=True)
    for name in names:
        begun = time.time()
        for make, *args in groups[name]():
            if time.time() - started > LAST_START_S:
                print(f"left out, the time is up: {name} {args}", flush=True)
                continue
            try:
                make(results, ours, *args)
            except Exception as e:  # the row's data could not be created; the other rows continue
                print(f"{name} {args}: {contest.first_line(e)}", flush=True)
                results.add({"group": name, "work": " ".join(map(str, args)), "who": "neso", "unit": "",
                             "errors": {"": contest.first_line(e)}})
            torch.cuda.empty_cache()
        print(f"-- {name}: {time.time() - begun:.0f} s", flush=True)
    report.show([path])


if __name__ == "__main__":
    main()
