# SPDX-License-Identifier: MIT
"""overhead.py: measures the host time of a launch in microseconds, the smallest of several rounds. It runs under neso and under Triton."""
import sys
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def many(a, b, c, d, e, f, g, h, n, s0, s1, s2, alpha, flag, BLOCK: tl.constexpr, MODE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    t = tl.load(a + i, mask=m) + tl.load(b + i, mask=m) + tl.load(c + i, mask=m) + tl.load(d + i, mask=m)
    if flag is not None:
        t += s0 + s1 + s2
    if MODE == "scaled":
        t *= alpha
    tl.store(e + i, t + tl.load(f + i, mask=m) + tl.load(g + i, mask=m) + tl.load(h + i, mask=m), mask=m)


def measure(name, call, rounds=12, calls=500):
    best = 1e9
    for _ in range(5):
        call()
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    torch.cuda.synchronize()
    print(f"launch {name}: {1e6 * best:.2f} us", flush=True)


def main():
    x, y, z = (torch.ones(1024, device="cuda") for _ in range(3))
    ts = [torch.ones(1024, device="cuda") for _ in range(8)]
    tuned = triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 512)], key=["n"])(add)
    grid = (1,)
    print(f"under {'neso' if 'neso' in triton.__file__ else 'Triton'} {triton.__version__}")
    measure("add, 4 arguments", lambda: add[grid](x, y, z, 1024, BLOCK=1024))
    kernel = add[grid]
    measure("add, grid kept", lambda: kernel(x, y, z, 1024, BLOCK=1024))
    measure("add, grid by a function", lambda: add[lambda meta: (triton.cdiv(1024, meta["BLOCK"]),)](x, y, z, 1024, BLOCK=1024))
    measure("16 arguments", lambda: many[grid](*ts, 1024, 16, 7, 1, 2.5, None, BLOCK=1024, MODE="scaled", num_warps=4))
    measure("autotuned", lambda: tuned[grid](x, y, z, 1024))
    measure("torch.add", lambda: torch.add(x, y, out=z))


if torch.cuda.is_available():
    main()
else:
    sys.exit("overhead.py needs a GPU")
