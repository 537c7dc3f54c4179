"""What each transformation is worth: the same kernel with it left out, in one run, all alternately.

    python3 bench/peers/worth.py [OUT.json]

The announcement's matmul in fp16 at n = 4096 and softmax 4096 x 8192, in neso's usual form, then without passes, then as PTX for
sm_80. A pass that others build on takes them along. A form whose PTX is that of `all` is not timed: it says so.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "runtime", "python"), os.path.join(ROOT, "bench", "programs")]
import compiling  # noqa: E402
import contest  # noqa: E402
import memory  # noqa: E402
import products  # noqa: E402
import torch  # noqa: E402

N = 4096
CONFIGS = [(128, 256, 64, 8, 4, 8), (128, 256, 64, 8, 3, 8), (128, 128, 64, 8, 4, 8), (128, 128, 64, 8, 3, 8)]
MATMUL = {
    "all": {},
    "no clusters": {"skip": "cluster"},
    "no persistent CTAs": {"skip": "persist"},
    "stored before the next dots begin": {"skip": "defer"},
    "sums begin with zeros": {"skip": "peel"},
    "stores not by TMA": {"skip": "put"},
    "nothing moved behind the loop": {"skip": "wrap,sink"},
    "loads by cp.async, no producer warp": {"skip": "tma"},
    "no TMA at all": {"skip": "tma,put"},
    "no TMA, no pipeline": {"skip": "tma,put,stage"},
    "mma.sync, cp.async (sm_80)": {"target": "sm_80"},
    "sm_80, no pipeline": {"target": "sm_80", "skip": "stage"},
}
SOFTMAX = {
    "all": {},
    "one element an access": {"skip": "vector"},
    "no persistent CTAs": {"skip": "persist"},
    "nothing computed again": {"skip": "again"},
    "sm_80": {"target": "sm_80"},
}


def encoded(options):
    return {k: v.encode() for k, v in options.items()}


def differing(ours, forms, source, kernel, signatures):
    """The forms that compile to something else than `all`; `signatures`: (signature, choices)."""
    def texts(options):
        found = []
        for signature, choices in signatures:
            try:
                found.append(ours.kernel(source, kernel, signature, **choices, **options).text())
            except RuntimeError as e:
                found.append(str(e))
        return found
    usual = texts(encoded(forms["all"]))
    same = [name for name, o in forms.items() if name != "all" and texts(encoded(o)) == usual]
    for name in same:
        print(f"{kernel}, {name}: the same PTX", flush=True)
    return {name: encoded(o) for name, o in forms.items() if name not in same}


def matmul(results, ours):
    a, b = products.random_pair(N, torch.float16)
    c = torch.empty(N, N, device="cuda", dtype=torch.float16)
    wrong = contest.far_from(a.float() @ b.float(), 2e-3)
    args = [a, b, c, N, N, N] + products.strides(a, b, c)
    signatures = [products.signature_of(args, [], g, N, N)[:2] for g in CONFIGS]
    contestants = [contest.Contestant(
        name, {products.label(g): products.ours_of(ours, "kernels", "matmul", args, [], g, N, N, **o) for g in CONFIGS}, c, wrong)
        for name, o in differing(ours, MATMUL, "kernels", "matmul", signatures).items()]
    contestants.append(contest.Contestant("cublas", {"": lambda: lambda: torch.matmul(a, b, out=c)}, c, wrong))
    contest.run(results, "worth", f"matmul fp16 n={N}", "TFLOP/s", 2 * N**3 / 1e9, contestants, "all", 7, 12)


def softmax(results, ours):
    work = memory.softmax(8192)
    signature = f"{work.signature}, {work.constants[0]}"

    def candidate(warps, options):
        future = ours.start("kernels", "softmax", signature, num_warps=warps, **options)
        values = [a.data_ptr() if torch.is_tensor(a) else a for a in work.args]
        return lambda: future.result().bind(work.grid, *values)
    forms = differing(ours, SOFTMAX, "kernels", "softmax", [(signature, {"num_warps": w}) for w in work.warps])
    contestants = [contest.Contestant(name, {f"w{w}": candidate(w, o) for w in work.warps}, work.args[0], lambda _: work.check())
                   for name, o in forms.items()]
    contestants.append(contest.Contestant("copy", {"": lambda: memory.copy_of(work.nbytes)}, None, lambda _: None))
    contest.run(results, "worth", work.name, "GB/s", work.nbytes / 1e6, contestants, "all", 9, 20)


def main():
    torch.manual_seed(0)
    results, ours = contest.Results(sys.argv[1] if len(sys.argv) > 1 else os.devnull), compiling.Ours()
    matmul(results, ours)
    softmax(results, ours)
    base = {r["work"]: r["ms"] for r in results.rows if r["who"] == "all" and "ms" in r}
    print("\n| work | form | rate | of all | tile |\n| --- | --- | --- | --- | --- |")
    for r in results.rows:
        rate = f"{r['rate']:.0f} {r['unit']}" if "ms" in r else "failed"
        part = f"{base[r['work']] / r['ms']:.3f}" if "ms" in r and r["work"] in base else ""
        print(f"| {r['work']} | {r['who']} | {rate} | {part} | {r.get('config', '')} |")
    sys.exit(not all("ms" in r for r in results.rows))


if __name__ == "__main__":
    main()
