# runs: interpreter emulator cuda triton (not triton-interpret: it multiplies bfloat16 as integers)
# Tests pipelined loops of dots with operands from memory: all numbers of iterations with all numbers of stages, masks,
# strides, element types, counters that increase or decrease, nested loops. Also tests loops that cannot be pipelined.
import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, DOWN: tl.constexpr,
            STAGES: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    if DOWN:
        for k in range(K, 0, -BK):
            acc += tl.dot(tl.load(a, mask=rk[None, :] < k, other=0.0), tl.load(b, mask=rk[:, None] < k, other=0.0))
            a += BK * sak
            b += BK * sbk
    else:
        for k in tl.range(0, K, BK, num_stages=STAGES):
            x = tl.load(a + k * sak, mask=k + rk[None, :] < K, other=0.0)
            y = tl.load(b + k * sbk, mask=k + rk[:, None] < K, other=0.0)
            acc = tl.dot(x, y, acc)
    tl.store(c_ptr + rm[:, None] * BN + rn[None, :], acc)


def small(shape, dtype):
    return torch.randint(-4, 5, shape, device="cuda").to(dtype)


def check(c, a, b, what):
    expected = a.to(torch.float32) @ b.to(torch.float32)
    worst = (c.to(torch.float32) - expected).abs().max().item()
    assert worst == 0, f"{what}: {worst}"


# lengths: none, one, fewer than stages, many; and lengths that are not multiples of the block
for stages in [2, 3, 5]:
    for K in [0, 16, 32, 48, 64, 144]:
        for down in [False, True]:
            a, b = small((32, max(K, 16)), torch.float16), small((max(K, 16), 32), torch.float16)
            c = torch.full((32, 32), 7.0, device="cuda")
            product[(1,)](a, b, c, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), 32, 32, 32, down, stages, num_warps=2,
                          num_stages=stages)
            check(c, a[:, :K], b[:K, :], f"{stages} stages, {K} long, down {down}")

# types, and either operand transposed in memory
for dtype in [torch.float16, torch.bfloat16, torch.float32]:
    for turned in range(4):
        a, b = small((64, 160), dtype), small((160, 32), dtype)
        if turned & 1:
            a = a.t().contiguous().t()
        if turned & 2:
            b = b.t().contiguous().t()
        c = torch.empty((64, 32), device="cuda")
        product[(1,)](a, b, c, 160, a.stride(0), a.stride(1), b.stride(0), b.stride(1), 64, 32, 32, False, 3, num_warps=4)
        check(c, a, b, f"{dtype} turned {turned}")


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, TURN: tl.constexpr):
    # two dots, where the second uses the result of the first; sums over rows between them use shared memory too
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    acc = tl.zeros((BM, D), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    for start in range(0, N, BN):
        if TURN:
            k = tl.trans(tl.load(k_ptr + (start + rn[:, None]) * D + rd[None, :]))
        else:
            k = tl.load(k_ptr + (start + rn[None, :]) * D + rd[:, None])
        v = tl.load(v_ptr + (start + rn[:, None]) * D + rd[None, :])
        s = tl.dot(q, k)
        total += tl.sum(s, axis=1)
        acc = tl.dot(s.to(tl.float16), v, acc)
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], acc + total[:, None])


q, k, v = small((32, 32), torch.float16), small((96, 32), torch.float16), small((96, 32), torch.float16)
o = torch.empty((32, 32), device="cuda")
for warps, turn in [(1, False), (4, False), (1, True), (4, True)]:
    attention[(1,)](q, k, v, o, 96, 32, 16, 32, turn, num_warps=warps, num_stages=3)
    s = q.to(torch.float32) @ k.to(torch.float32).t()
    expected = s.to(torch.float16).to(torch.float32) @ v.to(torch.float32) + s.sum(1)[:, None]
    assert (o - expected).abs().max().item() == 0


@triton.jit
def tiles_in_turn(a_ptr, b_ptr, c_ptr, T, K, BK: tl.constexpr):
    # the pipeline of the inner loop restarts for each tile
    r = tl.arange(0, 32)
    rk = tl.arange(0, BK)
    for t in range(0, T):
        acc = tl.zeros((32, 32), dtype=tl.float32)
        for k in range(0, K, BK):
            a = tl.load(a_ptr + (t * 32 + r)[:, None] * K + (k + rk)[None, :])
            b = tl.load(b_ptr + (k + rk)[:, None] * 32 + r[None, :])
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + (t * 32 + r)[:, None] * 32 + r[None, :], acc)


a, b = small((96, 64), torch.float16), small((64, 32), torch.float16)
c = torch.empty((96, 32), device="cuda")
tiles_in_turn[(1,)](a, b, c, 3, 64, 16, num_warps=4, num_stages=3)
check(c, a, b, "tiles in turn")


@triton.jit
def powers(a_ptr, x_ptr, n):
    # each iteration reads data that the previous iteration has written, so no copy can start ahead
    r = tl.arange(0, 16)
    at = r[:, None] * 16 + r[None, :]
    for i in range(0, n):
        x = tl.dot(tl.load(a_ptr + at), tl.load(x_ptr + at))
        tl.debug_barrier()
        tl.store(x_ptr + at, x.to(tl.float16))
        tl.debug_barrier()


a, x = torch.eye(16, device="cuda").to(torch.float16) * 2, small((16, 16), torch.float16)
expected = x.to(torch.float32) * 32
powers[(1,)](a, x, 5, num_warps=1, num_stages=3)
assert (x.to(torch.float32) - expected).abs().max().item() == 0


@triton.jit
def gathered(a_ptr, row_ptr, c_ptr, K, BK: tl.constexpr):
    # the loop loads the index of the rows to load
    r = tl.arange(0, 16)
    rk = tl.arange(0, BK)
    acc = tl.zeros((16, 16), dtype=tl.float32)
    for k in range(0, K, BK):
        row = tl.load(row_ptr + k + rk)
        a = tl.load(a_ptr + r[:, None] * K + (k + rk)[None, :])
        b = tl.load(a_ptr + r[None, :] * K + row[:, None])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + r[:, None] * 16 + r[None, :], acc)


a, rows = small((16, 64), torch.float16), torch.arange(63, -1, -1, device="cuda", dtype=torch.int32)
c = torch.empty((16, 16), device="cuda")
gathered[(1,)](a, rows, c, 64, 16, num_warps=1, num_stages=3)
check(c, a, a.flip(1).t(), "gathered")
