# SPDX-License-Identifier: MIT
"""products.py: measures matrix products of neso, cuBLAS (called by PyTorch), Triton, and hand-written PTX."""
import functools

import compiling
import kernels
import matmuls
import reference
import torch
import triton
from contest import Contestant, far_from, run

# BLOCK_M, BLOCK_N, BLOCK_K in elements of 16 bits, warps, stages, GROUP_M: the configurations that neso and Triton both try
CONFIGS = [(128, 256, 64, 8, 3, 8), (128, 256, 64, 8, 4, 8), (256, 128, 64, 8, 3, 8), (128, 128, 64, 8, 4, 8), (128, 128, 64, 4, 4, 8),
           (64, 128, 64, 4, 8, 8), (64, 256, 64, 4, 4, 8), (128, 256, 64, 8, 3, 16)]
LARGE = CONFIGS[:4]
# The configurations of the persistent kernel: the fields of CONFIGS, whether the loop is flattened, and whether C is
# stored in two halves
PERSISTENT = [(128, 256, 64, 8, 3, 8, True, False), (128, 256, 64, 8, 4, 8, True, True), (128, 256, 64, 8, 3, 8, False, False),
              (128, 128, 64, 4, 4, 8, True, False), (64, 128, 64, 4, 6, 8, True, False)]
ANNOUNCED_N = (1024, 2048, 4096, 8192, 16384)
FAR = {"fp16": 2e-3, "bf16": 8e-3, "fp8": 3e-2, "int8": 1e-5, "tf32": 4e-3}
UNIT = "TFLOP/s"


def label(config):
    text = f"{config[0]}x{config[1]}x{config[2]} w{config[3]} s{config[4]} g{config[5]}"
    return text + "".join(f" {w}" for w, on in zip(("flat", "halves"), config[6:]) if on)


def tiled(config, m, n, bits=16):
    """Returns the constants by name, the options, and the grid. The kernel groups program ids as in Triton's
    announcement."""
    block_m, block_n, block_k, warps, stages, group = config[:6]
    group = min(group, n // block_n)
    grid = (m // block_m * group, n // block_n // group)
    constants = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k * 16 // bits, "GROUP_M": group}
    return constants, {"num_warps": warps, "num_stages": stages}, grid


def strides(*matrices):
    return [s for x in matrices for s in (x.stride(0), x.stride(1))]


def signature_of(args, more, config, m, n, bits=16):
    """Returns neso's signature; `more` contains the entries that follow the constants of the tiling."""
    constants, choices, grid = tiled(config, m, n, bits)
    signature, values = compiling.specialize(args)
    return ", ".join([signature] + [str(c) for c in constants.values()] + more), choices, grid, values


def ours_of(ours, source, name, args, more, config, m, n, bits=16, **options):
    """Returns a candidate of neso, and starts to compile its kernel."""
    signature, choices, grid, values = signature_of(args, more, config, m, n, bits)
    future = ours.start(source, name, signature, **choices, **options)
    return lambda: future.result().bind(grid, *values)


def random_pair(n, dtype, a_is_columns=False, b_is_columns=False):
    a, b = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
    return a.t() if a_is_columns else a, b.t() if b_is_columns else b


# -- the announcement's matmul --

@functools.cache
def by_hand(kind):
    return reference.Reference(kind == "bf16")


def triton_same(args, config, n):
    constants, options, grid = tiled(config, n, n)
    return lambda: lambda: kernels.matmul[grid](*args, **constants, **options)


def persistent_constants(config):
    constants, options, _ = tiled(config[:6], 1 << 20, 1 << 20)
    programs = torch.cuda.get_device_properties(0).multi_processor_count
    return {**constants, "PROGRAMS": programs, "FLATTEN": config[6], "HALVES": config[7]}, options


def triton_persistent(a, b, c, config, n):
    constants, options = persistent_constants(config)
    grid = (min(constants["PROGRAMS"], (n // config[0]) * (n // config[1])),)
    return lambda: lambda: matmuls.persistent_matmul[grid](a, b, c, n, n, n, **constants, **options)


def announced_jobs(kinds=("fp16", "bf16")):
    """Returns the kernels as jobs for Triton's compiler. Kernels for different n differ only in the grouping."""
    jobs = []
    for kind in kinds:
        for config in CONFIGS:
            for n in (16384, 1024):
                constants, options, _ = tiled(config, n, n)
                jobs.append(("kernels", "matmul", [kind] * 3 + [n, n, n, n, 1, n, 1, n, 1], constants, options))
        for config in PERSISTENT:
            constants, options = persistent_constants(config)
            jobs.append(("matmuls", "persistent_matmul", [kind] * 3 + [4096] * 3, constants, options))
    seen = {}
    for job in jobs:  # n is an argument, and a multiple of 16 in all jobs, so that it does not distinguish kernels
        seen.setdefault(repr((job[1], job[2][0], job[3], job[4])), job)
    return list(seen.values())


def mma_jobs():
    return [job for job in announced_jobs(("fp16",)) if job[0] == "kernels"]


def announced_row(results, ours, group, kind, n, **options):
    """Measures a row of the announcement's matmul; `options` are neso's compile options."""
    dtype = torch.float16 if kind == "fp16" else torch.bfloat16
    a, b = random_pair(n, dtype)
    c = torch.empty(n, n, device="cuda", dtype=dtype)
    wrong = far_from(a.float() @ b.float(), FAR[kind])
    args = [a, b, c, n, n, n] + strides(a, b, c)
    contestants = [
        Contestant("cublas", {"": lambda: lambda: torch.matmul(a, b, out=c)}, c, wrong),
        Contestant("neso", {label(g): ours_of(ours, "kernels", "matmul", args, [], g, n, n, **options) for g in CONFIGS}, c, wrong),
        Contestant("triton", {label(g): triton_same(args, g, n) for g in CONFIGS}, c, wrong)]
    if group == "announced":
        contestants += [
            Contestant("reference", {"": lambda: by_hand(kind).bind(a, b, c)}, c, wrong),
            Contestant("triton persistent", {label(g): triton_persistent(a, b, c, g, n) for g in PERSISTENT}, c, wrong)]
    run(results, group, f"{kind} n={n}", UNIT, 2 * n**3 / 1e9, contestants, "cublas", 21, 4 if n > 4096 else 12)


def announced_rows():
    return [(announced_row, "announced", kind, n) for kind in ("fp16", "bf16") for n in ANNOUNCED_N]


def mma_rows():
    """Measures products with mma.sync, as on GPUs before Hopper. Triton uses mma.sync if TRITON_OVERRIDE_ARCH=sm80 is
    set."""
    return [(functools.partial(announced_row, target=b"sm_80"), "mma", "fp16", 4096)]


# -- other layouts and epilogues, compared with cuBLAS's plain product of row-major matrices --

LAYOUTS = {"NT": (False, True), "TN": (True, False), "TT": (True, True)}


def layout_row(results, ours, n):
    a, b = random_pair(n, torch.float16)
    ta, tb = a.t().contiguous().t(), b.t().contiguous().t()
    c, bias = torch.empty(n, n, device="cuda", dtype=torch.float16), torch.randn(n, device="cuda").half()
    product = a.float() @ b.float()
    plain = far_from(product, FAR["fp16"])
    contestants = [Contestant("cublas", {"": lambda: lambda: torch.matmul(a, b, out=c)}, c, plain)]
    for name, (a_turned, b_turned) in LAYOUTS.items():
        x, y = ta if a_turned else a, tb if b_turned else b
        args = [x, y, c, n, n, n] + strides(x, y, c)
        contestants.append(Contestant("neso " + name, {label(g): ours_of(ours, "kernels", "matmul", args, [], g, n, n) for g in LARGE},
                                      c, plain))
        contestants.append(Contestant("cublas " + name, {"": lambda x=x, y=y: lambda: torch.matmul(x, y, out=c)}, c, plain))
    biased = product + bias.float()
    for name, number, expected in [("bias GELU", 1, torch.nn.functional.gelu(biased, approximate="tanh")),
                                   ("leaky ReLU", 2, torch.nn.functional.leaky_relu(product, 0.01))]:
        args = [a, b, c, bias, n, n, n] + strides(a, b, c)
        candidates = {label(g): ours_of(ours, "matmuls", "matmul_with", args, [str(number), "tl.float32"], g, n, n) for g in LARGE}
        contestants.append(Contestant("neso " + name, candidates, c, far_from(expected, FAR["fp16"])))
    run(results, "layouts", f"fp16 n={n}", UNIT, 2 * n**3 / 1e9, contestants, "cublas", 21, 4)


def layout_rows():
    return [(layout_row, n) for n in (4096, 8192)]


# -- other types, both operands with K contiguous --

def type_fp8(n):
    a, b = random_pair(n, torch.float8_e4m3fn, False, True)
    one = torch.ones((), device="cuda")
    return a, b, torch.float16, "tl.float32", 8, lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.float16,
                                                                          use_fast_accum=True)


def type_int8(n):
    a, b = ((32 * torch.randn(n, n, device="cuda")).clamp(-127, 127).to(torch.int8) for _ in range(2))
    b = b.t()
    return a, b, torch.int32, "tl.int32", 8, lambda: torch._int_mm(a, b)


def type_tf32(n):
    a, b = random_pair(n, torch.float32, False, True)

    def call():
        torch.backends.cuda.matmul.allow_tf32 = True
        result = torch.matmul(a, b)
        torch.backends.cuda.matmul.allow_tf32 = False
        return result
    return a, b, torch.float32, "tl.float32", 32, call


TYPES = {"fp8": type_fp8, "int8": type_int8, "tf32": type_tf32}


def type_row(results, ours, kind, n):
    a, b, result, accumulator, bits, cublas = TYPES[kind](n)
    c, bias = torch.empty(n, n, device="cuda", dtype=result), torch.zeros(n, device="cuda", dtype=torch.float16)
    wrong = far_from(a.float() @ b.float(), FAR[kind])
    args = [a, b, c, bias, n, n, n] + strides(a, b, c)
    candidates = {label(g): ours_of(ours, "matmuls", "matmul_with", args, ["0", accumulator], g, n, n, bits) for g in LARGE}
    contestants = [Contestant("cublas", {"": lambda: cublas}, None, wrong),
                   Contestant("neso", candidates, c, wrong, -1 if kind == "int8" else float("nan"))]
    run(results, "types", f"{kind} n={n}", UNIT, 2 * n**3 / 1e9, contestants, "cublas", 21, 4)


def type_rows():
    return [(type_row, kind, 8192) for kind in TYPES]


# -- the product of a few rows and a large matrix --

# BLOCK_N, BLOCK_K, SPLIT_K, warps, stages
DECODE = [(64, 128, 1, 4, 8), (64, 256, 1, 4, 5), (64, 128, 2, 4, 5), (64, 64, 2, 4, 8), (64, 128, 4, 4, 3), (128, 128, 2, 8, 5),
          (128, 128, 2, 4, 5), (128, 64, 4, 4, 4), (64, 128, 1, 4, 4), (64, 256, 2, 4, 2), (256, 64, 4, 8, 4)]
DECODE_ROW = [(16, 512, 4), (8, 1024, 4), (32, 256, 4), (4, 2048, 4), (8, 2048, 8)]


def decode_of(ours, x, w, y, part, count, m, n, k, config):
    block_n, block_k, split, warps, stages = config
    signature, values = compiling.specialize([x, w, y, part, count, m, n, k, k, w.stride(0), w.stride(1)])
    signature += f", {max(16, m)}, {block_n}, {block_k}, {split}"
    future = ours.start("decode", "decode", signature, num_warps=warps, num_stages=stages)

    def make():
        count.zero_()  # an earlier candidate may have left nonzero counts
        return future.result().bind((n // block_n, split), *values)
    return make


def decode_row_of(ours, x, w, y, n, k, config):
    block_n, block_k, warps = config
    signature, values = compiling.specialize([x, w, y, n, k, w.stride(1)])
    future = ours.start("decode", "decode_row", f"{signature}, {block_n}, {block_k}", num_warps=warps)
    return lambda: future.result().bind((n // block_n,), *values)


def decode_row(results, ours, m, layout, n=8192, k=8192):
    x = torch.randn(m, k, device="cuda").half()
    w = torch.randn(n, k, device="cuda").half().t() if layout == "NT" else torch.randn(k, n, device="cuda").half()
    y, part = torch.empty(m, n, device="cuda", dtype=torch.float16), torch.empty(4, m, n, device="cuda")
    count = torch.zeros(n // 64, device="cuda", dtype=torch.int32)
    wrong = far_from(x.float() @ w.float(), FAR["fp16"])
    candidates = {"{}x{} split {} w{} s{}".format(*g): decode_of(ours, x, w, y, part, count, m, n, k, g) for g in DECODE}
    if m == 1 and layout == "NT":
        candidates.update({"rows {}x{} w{}".format(*g): decode_row_of(ours, x, w, y, n, k, g) for g in DECODE_ROW})
    contestants = [Contestant("cublas", {"": lambda: lambda: torch.matmul(x, w, out=y)}, y, wrong),
                   Contestant("neso", candidates, y, wrong)]
    run(results, "decode", f"M={m} {layout}", "GB/s", 2 * (n * k + m * (n + k)) / 1e6, contestants, "cublas", 21, 12)


def decode_rows():
    return [(decode_row, m, layout) for layout in ("NT", "NN") for m in (1, 8, 16, 64)]


def allocate_for_descriptors():
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
