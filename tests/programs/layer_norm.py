# runs: interpreter emulator cuda triton triton-interpret
# bits: the order in which programs take the lock determines the order of partial sums
# Tests layer normalization, forward and backward. In the backward pass, programs add their rows' parts of the
# weights' gradients to a few shared rows, one program at a time under locks; a second kernel sums these shared rows.
import torch
import triton
import triton.language as tl


@triton.jit
def forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < N, other=0.).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def backward_x(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, N,
               GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(mask, (x - mean) * rstd, 0.)
    slope = tl.where(mask, w * dy, 0.)
    along = tl.sum(normal * slope, axis=0) / N
    level = tl.sum(slope, axis=0) / N
    tl.store(dx_ptr + row * stride + cols, (slope - (normal * along + level)) * rstd, mask=mask)
    # the first program of the group stores its part, the others add theirs
    part_w = (dy * normal).to(w_ptr.dtype.element_ty)
    part_b = dy.to(w_ptr.dtype.element_ty)
    group = row % GROUPS
    lock = lock_ptr + group
    count = lock_ptr + GROUPS + group
    dw_ptrs = dw_ptr + group * N + cols
    db_ptrs = db_ptr + group * N + cols
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part_w += tl.load(dw_ptrs, mask=mask)
        part_b += tl.load(db_ptrs, mask=mask)
    tl.store(dw_ptrs, part_w, mask=mask)
    tl.store(db_ptrs, part_b, mask=mask)
    # all threads must have stored before the lock is released
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def backward_w(parts_w, parts_b, dw_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    sum_w = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    sum_b = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        at = rows[:, None] * N + cols[None, :]
        sum_w += tl.load(parts_w + at, mask=mask, other=0.)
        sum_b += tl.load(parts_b + at, mask=mask, other=0.)
    tl.store(dw_ptr + cols, tl.sum(sum_w, axis=0), mask=cols < N)
    tl.store(db_ptr + cols, tl.sum(sum_b, axis=0), mask=cols < N)


def layer_norm(x, w, b, eps):
    M, N = x.shape
    y = torch.empty_like(x)
    mean = torch.empty((M,), dtype=torch.float32, device=x.device)
    rstd = torch.empty((M,), dtype=torch.float32, device=x.device)
    block = min(1024, triton.next_power_of_2(N))
    forward[(M,)](x, y, w, b, mean, rstd, x.stride(0), N, eps, BLOCK=block, num_warps=min(max(block // 256, 1), 8))
    return y, mean, rstd


def layer_norm_backward(dy, x, w, mean, rstd, groups):
    M, N = x.shape
    locks = torch.zeros(2 * groups, dtype=torch.int32, device=w.device)
    parts_w = torch.zeros((groups, N), dtype=x.dtype, device=w.device)
    parts_b = torch.zeros((groups, N), dtype=x.dtype, device=w.device)
    dx, dw, db = torch.empty_like(dy), torch.empty_like(w), torch.empty_like(w)
    block = triton.next_power_of_2(N)
    backward_x[(M,)](dx, dy, parts_w, parts_b, x, w, mean, rstd, locks, x.stride(0), N, GROUPS=groups, BLOCK=block,
                     num_warps=min(max(block // 256, 1), 8))
    grid = lambda meta: (triton.cdiv(N, meta['BLOCK_N']),)
    backward_w[grid](parts_w, parts_b, dw, db, min(groups, M), N, BLOCK_M=32, BLOCK_N=128)
    return dx, dw, db


def oracle(x, w, b, dy, eps):
    x, w, b, dy = x.double(), w.double(), b.double(), dy.double()
    mean = x.mean(1, keepdim=True)
    rstd = 1 / torch.sqrt(((x - mean) ** 2).mean(1, keepdim=True) + eps)
    normal = (x - mean) * rstd
    slope = w * dy
    dx = (slope - normal * (normal * slope).mean(1, keepdim=True) - slope.mean(1, keepdim=True)) * rstd
    return normal * w + b, dx, (dy * normal).sum(0), dy.sum(0)


torch.manual_seed(0)
eps = 1e-5
for dtype, tolerance in [(torch.float32, 1e-5), (torch.float16, 2e-2)]:
    for M, N, groups in [(1, 5, 1), (37, 100, 4), (64, 1500, 16)]:
        x = (-2.3 + 0.5 * torch.randn((M, N), device='cuda')).to(dtype)
        w = torch.rand((N,), device='cuda').to(dtype)
        b = torch.rand((N,), device='cuda').to(dtype)
        dy = (0.1 * torch.randn((M, N), device='cuda')).to(dtype)
        y, mean, rstd = layer_norm(x, w, b, eps)
        dx, dw, db = layer_norm_backward(dy, x, w, mean, rstd, groups)
        for name, found, expected in zip(['y', 'dx', 'dw', 'db'], [y, dx, dw, db], oracle(x, w, b, dy, eps)):
            assert torch.allclose(found.double(), expected, rtol=tolerance, atol=tolerance), \
                f"{name} {dtype} {M} x {N}: {(found.double() - expected).abs().max()}"
print("ok")

# expect:
# ok
