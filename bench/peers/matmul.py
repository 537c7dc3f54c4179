"""The announcement's matmul beside cuBLAS (through PyTorch) and Triton on the same source.

    python3 bench/peers/matmul.py [--target sm_80] [OUT.json [N...]]

With --target, neso compiles for another GPU's PTX: sm_80 has mma.sync and cp.async only.

Square fp16 problems of random normal data; TFLOP/s counts 2 n^3. Each contestant's best of a few configurations.
"""
import json
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "runtime", "python"), os.path.join(ROOT, "bench", "programs")]
import kernels  # noqa: E402
import neso  # noqa: E402
import timing  # noqa: E402

# BLOCK_M, BLOCK_N, BLOCK_K, warps, stages
CONFIGS = [(128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (128, 128, 64, 8, 4), (64, 128, 64, 4, 8), (64, 256, 64, 4, 4)]
GROUP = 8


def check(name, call, c, expected):
    c.fill_(float("nan"))
    try:
        call()
        torch.cuda.synchronize()
    except Exception as e:  # a configuration that does not fit says so, and is left out
        print(f"  {name}: {str(e).splitlines()[0][:150]}")
        return False
    worst = ((c.float() - expected).norm() / expected.norm()).item()
    if not worst < 2e-3:
        print(f"  {name}: WRONG, relative error {worst}")
    return worst < 2e-3


def contestants(module, n, options):
    a = torch.randn(n, n, device="cuda", dtype=torch.float16)
    b = torch.randn(n, n, device="cuda", dtype=torch.float16)
    c = torch.empty(n, n, device="cuda", dtype=torch.float16)
    expected = a.float() @ b.float()
    calls = {"cublas": lambda: torch.matmul(a, b, out=c)}
    for m_, n_, k_, warps, stages in CONFIGS:
        label = f"{m_}x{n_}x{k_} w{warps} s{stages}"
        # program ids as the announcement groups them: pid_m = id0 // GROUP, pid_n = id1 * GROUP + id0 % GROUP
        group = min(GROUP, n // n_)
        grid = (n // m_ * group, n // n_ // group)
        try:
            kernel = module.kernel("matmul", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1, "
                                   f"{m_}, {n_}, {k_}, {group}", num_warps=warps, num_stages=stages, **options)
            ours = kernel.bind(grid, a.data_ptr(), b.data_ptr(), c.data_ptr(), n, n, n, n, n, n)
        except neso.NesoError as e:
            print(f"  neso {label}: {str(e).splitlines()[0][:150]}")
            ours = None
        if ours and check(f"neso {label}", ours, c, expected):
            calls[f"neso {label}"] = ours
        theirs = lambda grid=grid, g=group, p=(m_, n_, k_, warps, stages): kernels.matmul[grid](  # noqa: E731
            a, b, c, n, n, n, n, 1, n, 1, n, 1, BLOCK_M=p[0], BLOCK_N=p[1], BLOCK_K=p[2], GROUP_M=g, num_warps=p[3], num_stages=p[4])
        if check(f"triton {label}", theirs, c, expected):
            calls[f"triton {label}"] = theirs
    return calls


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    module = neso.Context("cuda").module(os.path.join(ROOT, "bench", "programs", "kernels.py"))
    args, options, rows = sys.argv[1:], {}, []
    if args[:1] == ["--target"]:
        options["target"], args = args[1].encode(), args[2:]
    for n in [int(x) for x in args[1:]] or [1024, 2048, 4096]:
        times = timing.side_by_side(contestants(module, n, options), rounds=5, repeats=6)
        rows += [{"n": n, "who": name, "ms": ms, "tflops": 2 * n**3 / ms / 1e9} for name, ms in times.items()]
        print(f"n={n}: " + "  ".join(f"{name} {2 * n**3 / ms / 1e9:.0f}" for name, ms in times.items()), flush=True)
    if args:
        with open(args[0], "w") as f:
            json.dump({**timing.card(), "rows": rows}, f, indent=1)


main()
