# SPDX-License-Identifier: MIT
"""worth.py: measures the gain of each transformation: it times forms of a kernel with and without the
transformation, alternately in one run.

    python3 bench/peers/worth.py [OUT.json]

The kernels are the announcement's matmul in fp16 at n = 4096, plain and with bias + GELU, and softmax, layer norm
and RMS norm by rows. The forms are neso's default (`all`), the kernel without one pass, and PTX for sm_80. If a pass
is left out, passes that need its result have no effect. There is no single pass for vector accesses, so the form
without them has no promises of alignment (`:16`): each access then has one element. A form is not timed if its PTX
equals the PTX of `all`; the table marks this form.
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
    "no clusters": {"skip": "cluster_multicast"},
    "no persistent CTAs": {"skip": "persistent_grid"},
    "stored before the next dots begin": {"skip": "overlap_epilogue"},
    "stores not by TMA": {"skip": "raise_tma_store"},
    "nothing moved behind the loop": {"skip": "modulo_contiguity,sink"},
    "loads by cp.async, no producer warp": {"skip": "raise_tma_load"},
    "no TMA at all": {"skip": "raise_tma_load,raise_tma_store"},
    "no TMA, no pipeline": {"skip": "raise_tma_load,raise_tma_store,pipeline_loops"},
    "mma.sync, cp.async (sm_80)": {"target": "sm_80"},
    "sm_80, no pipeline": {"target": "sm_80", "skip": "pipeline_loops"},
}
GELU = {
    "all": {},
    "stored before the next dots begin": {"skip": "overlap_epilogue"},
}
ROWS = {
    "all": {},
    "one element an access": {"promises": ""},
    "each loop reads its row": {"skip": "single_trip_loops"},
    "nothing computed again": {"skip": "remat"},
    "no row comes to L2 ahead": {"skip": "l2_prefetch"},
    "nothing leaves the caches first": {"skip": "eviction_hints"},
    "sm_80": {"target": "sm_80"},
}


def encoded(options):
    return {k: v.encode() for k, v in options.items() if k != "promises"}


def promised(signature, options):
    """Returns the signature, without the promises of alignment if the form has none."""
    return signature.replace(":16", options["promises"]) if "promises" in options else signature


def differing(ours, forms, source, kernel, signatures):
    """Returns the forms whose PTX differs from the PTX of `all`; `signatures` is a list of (signature, choices)."""
    def texts(options):
        found = []
        for signature, choices in signatures:
            try:
                found.append(ours.kernel(source, kernel, promised(signature, options), **choices, **encoded(options)).text())
            except RuntimeError as e:
                found.append(str(e))
        return found
    usual = texts(forms["all"])
    same = [name for name, o in forms.items() if name != "all" and texts(o) == usual]
    for name in same:
        print(f"{kernel}, {name}: the same PTX", flush=True)
    return {name: o for name, o in forms.items() if name not in same}


def matmul(results, ours, epilogue):
    a, b = products.random_pair(N, torch.float16)
    c, bias = torch.empty(N, N, device="cuda", dtype=torch.float16), torch.randn(N, device="cuda").half()
    product = a.float() @ b.float()
    if epilogue:
        source, kernel, forms, args, more = "matmuls", "matmul_with", GELU, [a, b, c, bias], ["1", "tl.float32"]
        product = torch.nn.functional.gelu(product + bias.float(), approximate="tanh")
    else:
        source, kernel, forms, args, more = "kernels", "matmul", MATMUL, [a, b, c], []
    args += [N, N, N] + products.strides(a, b, c)
    wrong = contest.far_from(product, 2e-3)
    signatures = [products.signature_of(args, more, g, N, N)[:2] for g in CONFIGS]
    contestants = [contest.Contestant(
        name, {products.label(g): products.ours_of(ours, source, kernel, args, more, g, N, N, **encoded(o)) for g in CONFIGS}, c, wrong)
        for name, o in differing(ours, forms, source, kernel, signatures).items()]
    contestants.append(contest.Contestant("cublas, plain", {"": lambda: lambda: torch.matmul(a, b, out=c)}, c, lambda _: None))
    name = f"matmul fp16 n={N}" + (" bias GELU" if epilogue else "")
    contest.run(results, "worth", name, "TFLOP/s", 2 * N**3 / 1e9, contestants, "all", 15, 8)


def rows(results, ours, work):
    signature = f"{work.signature}, {work.constants[0]}"
    output = work.args[0 if work.kernel == "softmax" else 1]

    def candidate(warps, options):
        future = ours.start("kernels", work.kernel, promised(signature, options), num_warps=warps, **encoded(options))
        values = [a.data_ptr() if torch.is_tensor(a) else a for a in work.args]
        return lambda: future.result().bind(work.grid, *values)
    forms = differing(ours, ROWS, "kernels", work.kernel, [(signature, {"num_warps": w}) for w in work.warps])
    contestants = [contest.Contestant(name, {f"w{w}": candidate(w, o) for w in work.warps}, output, lambda _: work.check())
                   for name, o in forms.items()]
    contestants.append(contest.Contestant("copy", {"": lambda: memory.copy_of(work.nbytes)}, None, lambda _: None))
    contest.run(results, "worth", work.name, "GB/s", work.nbytes / 1e6, contestants, "all", 15, 12)


def main():
    torch.manual_seed(0)
    results, ours = contest.Results(sys.argv[1] if len(sys.argv) > 1 else os.devnull), compiling.Ours()
    for epilogue in (False, True):
        matmul(results, ours, epilogue)
    for work in (memory.softmax(8192), memory.layer_norm(8192), memory.rms_norm(10240)):
        rows(results, ours, work)
    base = {r["work"]: r["ms"] for r in results.rows if r["who"] == "all" and "ms" in r}
    print("\n| work | form | rate | of all | tile |\n| --- | --- | --- | --- | --- |")
    for r in results.rows:
        rate = f"{r['rate']:.0f} {r['unit']}" if "ms" in r else "failed"
        part = f"{base[r['work']] / r['ms']:.3f}" if "ms" in r and r["work"] in base else ""
        print(f"| {r['work']} | {r['who']} | {rate} | {part} | {r.get('config', '')} |")
    sys.exit(not all("ms" in r for r in results.rows))


if __name__ == "__main__":
    main()
