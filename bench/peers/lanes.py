# SPDX-License-Identifier: MIT
"""lanes.py: measures row-wise and elementwise kernels (bench/programs/rows.py) of neso, Triton and PyTorch, and a device copy of the same
number of bytes.

    python3 bench/peers/lanes.py OUT.json [WORD...]      on the GPU: the kernels whose names contain a WORD, or all; report.py makes the table
    python3 -m neso --device interpreter bench/peers/lanes.py check [WORD...]     checks the results for small sizes, on the CPU

VARIANTS="skip=l2_prefetch;params=cta_registers=96" adds contestants: neso without a pass, or with another threshold. A variant is skipped
if its PTX equals the default's.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("bench/programs", "bench/peers", "bench", "runtime/python")]
LAST_START_S = 200


def named(words):
    return [(make, sizes, small) for make, sizes, small in rowcases.CASES
            if not words or any(w in rowcases.name_of(make, sizes) for w in words)]


def check(words):
    wrong = 0
    for make, _, sizes in named(words):
        if sizes is None:
            continue
        torch.manual_seed(0)
        case = make(*sizes)
        case.prepare()
        for kernel, grid, args, constants, warps in case.launches:
            kernel[grid](*args, *constants, num_warps=warps[0])
        why = case.wrong()
        if why:
            print(f"{rowcases.name_of(make, sizes)}: {why}", flush=True)
            wrong += 1
    print(f"{wrong} wrong of {len(named(words))}")
    sys.exit(wrong > 0)


def in_order(calls):
    def call():
        for c in calls:
            c()
    return calls[0] if len(calls) == 1 else call


def ours_of(ours, case, warps, options):
    """Returns the function that makes neso's call, and the kernels of the call, whose compilation may still run."""
    futures = []
    for at, (kernel, grid, args, constants, tried) in enumerate(case.launches):
        signature, values = compiling.specialize(args)
        text = ", ".join([signature] + [str(c) for c in constants])
        futures.append((ours.start("rows", kernel.__name__, text, num_warps=warps if at == 0 else tried[0], **options), grid, values))
    return lambda: in_order([f.result().bind(grid, *values) for f, grid, values in futures]), [f for f, _, _ in futures]


def variants():
    """Returns {contestant: compile options} for the variants."""
    found = {"neso": {}}
    for text in filter(None, os.environ.get("VARIANTS", "").split(";")):
        found["neso " + text] = dict([text.split("=", 1)])
    return found


def candidates_of(ours, case, options):
    """Returns {label: function that makes the call} for a variant; empty if its PTX equals the PTX of the plain
    compiler."""
    made, differs = {}, not options
    for w in case.launches[0][4]:
        make, futures = ours_of(ours, case, w, options)
        made[f"w{w}"] = make
        differs = differs or any(f.result().text() != g.result().text() for f, g in zip(futures, ours_of(ours, case, w, {})[1]))
    return made if differs else {}


def triton_of(case, warps):
    calls = []
    for at, (kernel, grid, args, constants, tried) in enumerate(case.launches):
        calls.append(lambda kernel=kernel[grid], all=(*args, *constants), w=warps if at == 0 else tried[0]: kernel(*all, num_warps=w))
    return lambda: in_order(calls)


def jobs_of(case):
    """Returns the case's kernels as jobs for Triton's compiler."""
    return [("rows", kernel.__name__, compiling.for_triton(args) + constants, {}, {"num_warps": w})
            for at, (kernel, _, args, constants, tried) in enumerate(case.launches) for w in (tried if at == 0 else tried[:1])]


def row(results, ours, name, case):
    def wrong(_):
        why = case.wrong()
        case.prepare()
        return why
    case.prepare()
    nothing = lambda _: None  # noqa: E731
    contestants = [contest.Contestant(who, made, None, wrong)
                   for who, options in variants().items() if (made := candidates_of(ours, case, options))]
    contestants.append(contest.Contestant("triton", {f"w{w}": triton_of(case, w) for w in case.launches[0][4]}, None, wrong))
    if case.torch_call:
        contestants.append(contest.Contestant("torch", {"": lambda: case.torch_call}, None, nothing))
    contestants.append(contest.Contestant("copy", {"": lambda: memory.copy_of(case.nbytes)}, None, nothing))
    contest.run(results, "rows", name, "GB/s", case.nbytes / 1e6, contestants, "triton", 15, 8)


def measure(path, words):
    started, jobs = time.time(), []
    torch.manual_seed(0)
    results, ours = contest.Results(path), compiling.Ours()
    for make, sizes, _ in named(words):
        case = make(*sizes)
        jobs += jobs_of(case)
        for options in variants().values():
            for w in case.launches[0][4]:
                ours_of(ours, case, w, options)  # starts to compile
        del case
        torch.cuda.empty_cache()
    wait = compiling.warm_triton(jobs)
    if wait:
        wait()
    print(f"{len(named(words))} cases, {len(jobs)} kernels of Triton's, {time.time() - started:.0f} s", flush=True)
    for make, sizes, _ in named(words):
        name = rowcases.name_of(make, sizes)
        if time.time() - started > LAST_START_S:
            print(f"left out, the time is up: {name}", flush=True)
            continue
        try:
            row(results, ours, name, make(*sizes))
        except Exception as e:  # the other rows continue
            print(f"{name}: {contest.first_line(e)}", flush=True)
            results.add({"group": "rows", "work": name, "who": "neso", "unit": "", "errors": {"": contest.first_line(e)}})
        torch.cuda.empty_cache()
    report.show([path])


if __name__ == "__main__":
    import torch
    import rowcases
    if sys.argv[1] == "check":
        check(sys.argv[2:])
    import compiling
    import contest
    import memory
    import report
    measure(sys.argv[1], sys.argv[2:])
