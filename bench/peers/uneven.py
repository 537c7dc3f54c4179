# SPDX-License-Identifier: MIT
"""uneven.py: measures kernels of bench/programs/users.py with irregular memory layouts, and compares them with Triton and cuBLAS: products
whose row pitch is not a multiple of 16 bytes, decoding from pages, weights of 4 and 8 bits.

    python3 bench/peers/uneven.py OUT.json [GROUP...]      a GROUP: products, pages, weights, bytes
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("bench/programs", "bench/peers", "bench", "runtime/python")]
import compiling
import contest
import torch
import triton
import users
from contest import Contestant, far_from

# BM, BN, BK, warps, stages
TILES = [(128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 32, 4, 4), (64, 128, 64, 4, 4)]
FLAT_TILES = [(16, 128, 64, 4, 4), (16, 64, 128, 4, 4), (16, 64, 64, 4, 5)]  # for few rows
SHAPES = [(m, n, n) for m, n in ((4100, 4100), (4101, 4101), (4102, 4102), (1000, 4100), (300, 4100), (300, 4101), (300, 4102), (16, 4100), (16, 4101))]
ROUNDS, REPEATS = 5, 6


def halves(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def ours_of(ours, name, args, constants, grid, warps, stages, **options):
    signature, values = compiling.specialize(args)
    future = ours.start("users", name, ", ".join([signature] + [str(c) for c in constants]), num_warps=warps, num_stages=stages, **options)
    return lambda: future.result().bind(grid, *values)


def triton_of(kernel, args, constants, grid, warps, stages):
    return lambda: lambda: kernel[grid](*args, *constants, num_warps=warps, num_stages=stages)


def product(results, ours, shape):
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n), halves(m, n)
    expected = a.float() @ b.float()
    args = [a, b, c, m, n, k, k, 1, n, 1, n, 1]
    ways = {"neso": lambda *x: ours_of(ours, "matmul", *x), "triton": lambda *x: triton_of(users.matmul, *x),
            "neso, no copies": lambda *x: ours_of(ours, "matmul", *x, params="launch_pad_mib_most=0"),
            "neso, copies": lambda *x: ours_of(ours, "matmul", *x, params="launch_pad_sweeps=0")}
    made = {who: {} for who in ways}
    for tile in TILES if m > 64 else FLAT_TILES:
        grid = (triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1]),)
        for who, make in ways.items():
            made[who]["x".join(map(str, tile[:3])) + " w%d s%d" % tile[3:]] = make(args, [*tile[:3], 8], grid, *tile[3:])
    contestants = [Contestant("cublas", {"": lambda: lambda: torch.matmul(a, b, out=c)}, c, far_from(expected, 2e-3))]
    contestants += [Contestant(who, calls, c, far_from(expected, 2e-3)) for who, calls in made.items()]
    contest.run(results, "products", "x".join(map(str, shape)), "TFLOP/s", 2e-9 * m * n * k, contestants, "cublas", ROUNDS, REPEATS)


def pages(results, ours, page, length, sequences):
    heads, group, d = 8, 4, 128
    most = (length + page - 1) // page
    kv = halves(2, sequences * most, page, heads, d)
    q, o = halves(sequences, heads * group, d), halves(sequences, heads * group, d)
    table = torch.randperm(sequences * most, device="cuda").to(torch.int32)
    lengths = torch.full((sequences,), length, device="cuda", dtype=torch.int32)
    scale = d ** -0.5
    mine = kv[:, table.reshape(sequences, most).long()].reshape(2, sequences, most * page, heads, d)[:, :, :length].transpose(2, 3)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.reshape(sequences, heads, group, d).float(), mine[0].float(), mine[1].float(), scale=scale).reshape(o.shape)
    del mine
    args = [q, kv[0], kv[1], o, table, lengths, scale, page * heads * d, heads * d, most]
    made = {"neso": {}, "triton": {}}
    for block, warps, stages in ((64, 4, 3), (128, 4, 3), (64, 4, 2), (64, 8, 3), (32, 4, 4)):
        constants = [group, page, block, d]
        label = f"{block} w{warps} s{stages}"
        made["neso"][label] = ours_of(ours, "paged_decode", args, constants, (sequences, heads), warps, stages)
        made["triton"][label] = triton_of(users.paged_decode, args, constants, (sequences, heads), warps, stages)
    wrong = far_from(expected, 4e-3)
    contest.run(results, "pages", f"{sequences} sequences, pages of {page}", "GB/s", 1e-6 * 4 * sequences * length * heads * d,
                [Contestant(who, calls, o, wrong) for who, calls in made.items()] +
                [Contestant("a maximum of all bytes", {"": lambda: lambda: kv.view(torch.int64).amax()}, None, lambda x: None)], "triton", ROUNDS, REPEATS)


def weights(results, ours, m, n, k):
    a, c, scales = halves(m, k), halves(m, n), halves(k // 128, n) * 0.01
    words = torch.randint(-2 ** 31, 2 ** 31 - 1, (k // 8, n), device="cuda", dtype=torch.int32)
    plain = torch.stack([(words >> (4 * i) & 15) - 8 for i in range(8)], 1).reshape(k, n).half() * scales.repeat_interleave(128, 0)
    expected = a.float() @ plain.float()
    args = [a, words, scales, c, m, n, k]
    made = {"neso": {}, "triton": {}}
    bm = max(16, min(m, 64))
    for bn, bk, warps, stages in ((64, 64, 4, 3), (32, 128, 4, 4), (64, 128, 4, 4), (32, 128, 8, 4), (32, 256, 8, 3), (64, 128, 8, 4)):
        constants, grid = [128, bm, bn, bk], (m // bm, n // bn)
        label = f"{bm}x{bn}x{bk} w{warps} s{stages}"
        made["neso"][label] = ours_of(ours, "weights_of_4_bits", args, constants, grid, warps, stages)
        made["triton"][label] = triton_of(users.weights_of_4_bits, args, constants, grid, warps, stages)
    contestants = [Contestant("cublas", {"fp16": lambda: lambda: torch.matmul(a, plain, out=c)}, c, far_from(expected, 4e-3))]
    contestants += [Contestant(who, calls, c, far_from(expected, 4e-3)) for who, calls in made.items()]
    contest.run(results, "weights", f"{m} rows, {k}x{n}", "GB/s of 4 bits", 1e-6 * n * k / 2, contestants, "cublas", ROUNDS, REPEATS)


def weights_of_bytes(results, ours, m, n, k):
    a, c, scales = halves(m, k), halves(m, n), torch.rand(n, device="cuda") * 0.01
    words = torch.randint(-128, 128, (k, n), device="cuda", dtype=torch.int8)
    plain = words.half() * scales.half()
    expected = (a.float() @ words.float()) * scales
    args = [a, words, scales, c, m, n, k]
    made = {"neso": {}, "triton": {}}
    for bm, bn, bk, warps, stages in ((64, 64, 64, 4, 4), (64, 32, 128, 4, 4), (128, 128, 64, 8, 3), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4)):
        constants, grid = [bm, bn, bk], ((m + bm - 1) // bm, n // bn)
        if m % bm:
            continue
        label = f"{bm}x{bn}x{bk} w{warps} s{stages}"
        made["neso"][label] = ours_of(ours, "weights_of_bytes", args, constants, grid, warps, stages)
        made["triton"][label] = triton_of(users.weights_of_bytes, args, constants, grid, warps, stages)
    contestants = [Contestant("cublas", {"fp16": lambda: lambda: torch.matmul(a, plain, out=c)}, c, far_from(expected, 4e-3))]
    contestants += [Contestant(who, calls, c, far_from(expected, 4e-3)) for who, calls in made.items()]
    contest.run(results, "bytes", f"{m} rows, {k}x{n}", "TFLOP/s", 2e-9 * m * n * k, contestants, "cublas", ROUNDS, REPEATS)


def main():
    groups = sys.argv[2:] or ["products", "pages", "weights", "bytes"]
    results, ours = contest.Results(sys.argv[1]), compiling.Ours()
    torch.manual_seed(0)
    if "products" in groups:
        for shape in SHAPES:
            product(results, ours, shape)
    if "pages" in groups:
        for page, sequences in ((16, 64), (64, 64), (16, 16), (64, 16)):
            pages(results, ours, page, 4000, sequences)
    if "weights" in groups:
        for m, n, k in ((16, 4096, 4096), (64, 4096, 4096), (16, 14336, 4096), (64, 14336, 4096)):
            weights(results, ours, m, n, k)
    if "bytes" in groups:
        for m in (64, 4096):
            weights_of_bytes(results, ours, m, 4096, 4096)


if __name__ == "__main__":
    main()
