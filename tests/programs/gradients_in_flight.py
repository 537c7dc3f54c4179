# runs: interpreter emulator cuda triton triton-interpret
# The gradients of K and V in attention as flash-linear-attention computes them, without softmax: the last dot of an iteration runs while the
# next begins. The second loop copies its own tiles, so it must not overwrite the stage that the dot reads; with 32-bit elements, the dot
# reads copies of the registers of its operand.
import torch
import triton
import triton.language as tl


@triton.jit
def block(b_k, b_v, b_dk, b_dv, q, do, i_s, T, D: tl.constexpr, BS: tl.constexpr):
    rows = i_s + tl.arange(0, BS)
    columns = tl.arange(0, D)
    mask = rows < T
    b_q = tl.load(q + rows[:, None] * D + columns[None, :], mask=mask[:, None], other=0.0)
    b_do = tl.load(do + rows[:, None] * D + columns[None, :], mask=mask[:, None], other=0.0)
    b_p = tl.dot(b_k, tl.trans(b_q))
    b_dv = tl.dot(b_p.to(b_do.dtype), b_do, b_dv)
    b_dp = tl.dot(b_v, tl.trans(b_do))
    b_dk = tl.dot((b_p * b_dp).to(b_q.dtype), b_q, b_dk)
    return b_dk, b_dv


@triton.jit(do_not_specialize=['T'])
def gradients(q, k, v, do, dk, dv, T, D: tl.constexpr, BT: tl.constexpr, BS: tl.constexpr):
    i_t = tl.program_id(0).to(tl.int64)
    rows = i_t * BT + tl.arange(0, BT)
    columns = tl.arange(0, D)
    mask = rows < T
    b_k = tl.load(k + rows[:, None] * D + columns[None, :], mask=mask[:, None], other=0.0)
    b_v = tl.load(v + rows[:, None] * D + columns[None, :], mask=mask[:, None], other=0.0)
    b_dk = tl.zeros([BT, D], dtype=tl.float32)
    b_dv = tl.zeros([BT, D], dtype=tl.float32)
    for i_s in range(i_t * BT, min((i_t + 1) * BT, T), BS):
        b_dk, b_dv = block(b_k, b_v, b_dk, b_dv, q, do, i_s, T, D, BS)
    for i_s in range((i_t + 1) * BT, tl.cdiv(T, BS) * BS, BS):
        b_dk, b_dv = block(b_k, b_v, b_dk, b_dv, q, do, i_s, T, D, BS)
    tl.store(dk + rows[:, None] * D + columns[None, :], b_dk, mask=mask[:, None])
    tl.store(dv + rows[:, None] * D + columns[None, :], b_dv, mask=mask[:, None])


@triton.jit
def one_loop(q, k, v, do, dk, dv, T, D: tl.constexpr, BT: tl.constexpr, BS: tl.constexpr):
    rows = tl.arange(0, BT)
    columns = tl.arange(0, D)
    b_k = tl.load(k + rows[:, None] * D + columns[None, :])
    b_v = tl.load(v + rows[:, None] * D + columns[None, :])
    b_dk = tl.zeros([BT, D], dtype=tl.float32)
    b_dv = tl.zeros([BT, D], dtype=tl.float32)
    for i_s in range(0, T, BS):
        b_dk, b_dv = block(b_k, b_v, b_dk, b_dv, q, do, i_s, T, D, BS)
    tl.store(dk + rows[:, None] * D + columns[None, :], b_dk)
    tl.store(dv + rows[:, None] * D + columns[None, :], b_dv)


def numbers(rows, columns, dtype):
    """Small integers, so that all products and sums are exact."""
    return torch.randint(-1, 2, (rows, columns), device='cuda').to(dtype)


def check(kernel, T, D, BT, BS, warps, stages, dtype):
    torch.manual_seed(T + D)
    n = BT if kernel is one_loop else T
    q, do = numbers(T, D, dtype), numbers(T, D, dtype)
    k, v = numbers(n, D, dtype), numbers(n, D, dtype)
    dk, dv = torch.zeros(n, D, device='cuda'), torch.zeros(n, D, device='cuda')
    kernel[(1 if kernel is one_loop else triton.cdiv(T, BT),)](q, k, v, do, dk, dv, T, D, BT, BS, num_warps=warps, num_stages=stages)
    fq, fk, fv, fdo = (x.to(torch.float32) for x in (q, k, v, do))
    p = torch.matmul(fk, fq.transpose(0, 1))
    dp = torch.matmul(fv, fdo.transpose(0, 1))
    if kernel is gradients:
        first = torch.arange(n, device='cuda') // BT * BT
        on = torch.arange(T, device='cuda')[None, :] >= first[:, None]
        p = torch.where(on, p, 0.0)
    for found, factor, other in ((dv, p, fdo), (dk, (p * dp).to(dtype).to(torch.float32), fq)):
        assert torch.equal(found, torch.matmul(factor, other)), (kernel, T, D, warps, stages, dtype)


for T in (200, 260):
    check(gradients, T, 64, 128, 64, 8, 3, torch.float16)
    check(gradients, T, 32, 128, 64, 8, 2, torch.bfloat16)
check(gradients, 260, 64, 64, 64, 4, 3, torch.float16)
check(one_loop, 192, 64, 128, 64, 8, 3, torch.float32)
check(one_loop, 192, 64, 128, 64, 8, 3, torch.float16)
