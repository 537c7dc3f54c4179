# SPDX-License-Identifier: MIT
"""lessons.py: runs kernels like those of Triton's tutorials, with similar host code, and compares their results with torch. The file runs
under neso and under Triton."""
import sys
import traceback

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


def vector_add():
    x, y = torch.rand(98432, device=DEVICE), torch.rand(98432, device=DEVICE)
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)](x, y, out, x.numel(), BLOCK_SIZE=1024)
    assert torch.equal(out, x + y)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr, num_stages: tl.constexpr):
    start, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(start, n_rows, step, num_stages=num_stages):
        cols = tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
        x = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, x / tl.sum(x, axis=0), mask=mask)


def fused_softmax():
    x = torch.randn(1823, 781, device=DEVICE)
    y = torch.empty_like(x)
    properties = triton.runtime.driver.active.utils.get_device_properties(DEVICE.index or 0)
    kernel = softmax_kernel.warmup(y, x, x.stride(0), y.stride(0), 1823, 781, BLOCK_SIZE=1024, num_stages=2, num_warps=8, grid=(1,))
    kernel._init_handles()
    assert kernel.n_regs > 0 and kernel.metadata.shared >= 0
    programs = min(properties["multiprocessor_count"] * 4, 1823)
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), 1823, 781, 1024, 2)
    torch.testing.assert_close(y, torch.softmax(x, 1))


def matmul_configs():
    return [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_stages=s, num_warps=w)
            for m, n, k, s, w in ((128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (64, 64, 32, 4, 4))]


@triton.autotune(configs=matmul_configs(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * num_pid_n)
    first = group * GROUP_M
    size = min(num_pid_m - first, GROUP_M)
    pid_m = first + (pid % (GROUP_M * num_pid_n)) % size
    pid_n = (pid % (GROUP_M * num_pid_n)) // size
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c = acc.to(tl.float16)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + stride_cm * rows[:, None] + stride_cn * cols[None, :], c, mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


def matmul():
    for activation in ("", "leaky_relu"):
        for m, n, k in ((512, 512, 512), (300, 200, 100)):
            a = torch.randn(m, k, device=DEVICE, dtype=torch.float16)
            b = torch.randn(k, n, device=DEVICE, dtype=torch.float16)
            c = torch.empty(m, n, device=DEVICE, dtype=torch.float16)
            matmul_kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
                a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), ACTIVATION=activation)
            expected = a @ b
            if activation:
                expected = torch.where(expected >= 0, expected, 0.01 * expected)
            torch.testing.assert_close(c, expected, atol=1e-1, rtol=1e-2)
    assert isinstance(matmul_kernel.best_config, triton.Config) and len(matmul_kernel.cache) == 2


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.where(tl.rand(seed, i) > p, x / (1 - p), 0.0), mask=i < n)


def dropout():
    x = torch.ones(10000, device=DEVICE)
    outs = [torch.empty_like(x) for _ in range(3)]
    for out, seed in zip(outs, (123, 123, 512)):
        dropout_kernel[(triton.cdiv(10000, 1024),)](x, out, 10000, 0.5, seed, BLOCK=1024)
    assert torch.equal(outs[0], outs[1]) and not torch.equal(outs[0], outs[2])
    assert 4500 < (outs[0] == 2).sum().item() < 5500


@triton.jit
def norm_forward(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    y = d * rstd * tl.load(W + cols, mask=mask) + tl.load(B + cols, mask=mask)
    tl.store(Y + row * stride + cols, y, mask=mask)


@triton.jit
def norm_backward(DX, DY, DW, X, W, Mean, Rstd, Lock, stride, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    rstd = tl.load(Rstd + row)
    xhat = tl.where(mask, (x - tl.load(Mean + row)) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1, c2 = tl.sum(xhat * wdy, axis=0) / N, tl.sum(wdy, axis=0) / N
    tl.store(DX + row * stride + cols, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    lock = row % GROUP
    Lock += lock
    Count = Lock + GROUP
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    partial = dy * xhat
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial += tl.load(DW + lock * N + cols, mask=mask)
    tl.store(DW + lock * N + cols, partial, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        y = torch.empty_like(x)
        rows, n = x.shape
        mean, rstd = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
        ctx.block = triton.next_power_of_2(n)
        norm_forward[(rows,)](x, y, weight, bias, mean, rstd, x.stride(0), n, eps, BLOCK=ctx.block, num_warps=4)
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        rows, n = x.shape
        locks = torch.zeros(2 * 64, dtype=torch.int32, device=x.device)
        dw, dx = torch.zeros((64, n), dtype=torch.float32, device=x.device), torch.empty_like(dy)
        norm_backward[(rows,)](dx, dy.contiguous(), dw, x, weight, mean, rstd, locks, x.stride(0), n, GROUP=64, BLOCK=ctx.block)
        return dx, dw.sum(0).to(weight.dtype), None, None


def layer_norm():
    x = torch.randn(1151, 1000, device=DEVICE, requires_grad=True)
    w = torch.rand(1000, device=DEVICE, requires_grad=True)
    b = torch.rand(1000, device=DEVICE)
    dy = torch.randn_like(x) * 0.1
    LayerNorm.apply(x, w, b, 1e-5).backward(dy)
    found = x.grad.clone(), w.grad.clone()
    x.grad = w.grad = None
    torch.nn.functional.layer_norm(x, (1000,), w, b, 1e-5).backward(dy)
    torch.testing.assert_close(found[0], x.grad, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(found[1], w.grad, atol=1e-2, rtol=1e-2)


@triton.jit
def attend(acc, l_i, m_i, q, k_ptrs, v_ptrs, N: tl.constexpr, BLOCK_N: tl.constexpr, scale):
    for start in range(0, N, BLOCK_N):
        k = tl.load(k_ptrs + start * 64)
        qk = tl.dot(q, tl.trans(k)) * scale
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v_ptrs + start * 64), acc)
        m_i = m_new
    return acc, l_i, m_i


@triton.jit
def attention_kernel(Q, K, V, Out, scale, N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * N * 64
    m, n, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, 64)
    q = tl.load(Q + base + m[:, None] * 64 + d[None, :])
    acc = tl.zeros([BLOCK_M, 64], tl.float32)
    l_i, m_i = tl.zeros([BLOCK_M], tl.float32) + 1.0, tl.zeros([BLOCK_M], tl.float32) - float("inf")
    l_i -= 1.0
    places = base + n[:, None] * 64 + d[None, :]
    acc, l_i, m_i = attend(acc, l_i, m_i, q, K + places, V + places, N, BLOCK_N, scale)
    tl.store(Out + base + m[:, None] * 64 + d[None, :], (acc / l_i[:, None]).to(tl.float16))


def attention():
    q, k, v = (torch.randn(2, 4, 256, 64, device=DEVICE, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    attention_kernel[(256 // 64, 8)](q, k, v, out, 0.125 * 1.44269504, N=256, BLOCK_M=64, BLOCK_N=64, num_stages=2)
    torch.testing.assert_close(out, torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-2, rtol=1e-2)


@triton.jit
def asin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, libdevice.asin(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


def extern_functions():
    x = torch.rand(98432, device=DEVICE)
    y = torch.empty_like(x)
    asin_kernel[(triton.cdiv(98432, 1024),)](x, y, 98432, BLOCK=1024)
    torch.testing.assert_close(y, torch.asin(x))


@triton.jit
def grouped_kernel(A, B, C, sizes, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    for g in range(COUNT):
        n = tl.load(sizes + g)
        a, b, c = (tl.load(A + g).to(tl.pointer_type(tl.float32)), tl.load(B + g).to(tl.pointer_type(tl.float32)),
                   tl.load(C + g).to(tl.pointer_type(tl.float32)))
        for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(c + i, tl.load(a + i, mask=i < n) * tl.load(b + i, mask=i < n), mask=i < n)


def grouped():
    sizes = [1000, 3000, 77]
    a, b = ([torch.rand(n, device=DEVICE) for n in sizes] for _ in range(2))
    c = [torch.empty(n, device=DEVICE) for n in sizes]
    addresses = [torch.tensor([t.data_ptr() for t in ts], device=DEVICE) for ts in (a, b, c)]
    grouped_kernel[(4,)](*addresses, torch.tensor(sizes, dtype=torch.int32, device=DEVICE), COUNT=3, BLOCK=256)
    for x, y, z in zip(a, b, c):
        assert torch.equal(z, x * y)


@triton.jit
def descriptor_matmul(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, acc)
    c_desc.store([m, n], acc.to(tl.float16))


@triton.jit
def device_descriptor(a_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK, BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK, BLOCK])
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    out.store(at, a.load(at) * 2)


def descriptors():
    a, b = torch.randn(256, 512, device=DEVICE, dtype=torch.float16), torch.randn(128, 512, device=DEVICE, dtype=torch.float16)
    c = torch.empty(256, 128, device=DEVICE, dtype=torch.float16)
    descriptor_matmul[(2, 1)](TensorDescriptor.from_tensor(a, [128, 64]), TensorDescriptor.from_tensor(b, [128, 64]),
                              TensorDescriptor.from_tensor(c, [128, 128]), 512, BM=128, BN=128, BK=64, num_warps=8)
    torch.testing.assert_close(c, a @ b.T, atol=1e-1, rtol=1e-2)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device=DEVICE, dtype=torch.int8))
    out = torch.empty_like(a)
    device_descriptor[(4, 8)](a, out, 256, 512, BLOCK=64)
    assert torch.equal(out, a * 2)


def graphs_and_streams():
    """Checks that launches use torch's current stream, also in a graph capture, and that several threads can launch at once."""
    import threading
    x, y, out = torch.rand(1 << 20, device=DEVICE), torch.rand(1 << 20, device=DEVICE), torch.zeros(1 << 20, device=DEVICE)

    def run(out=out):
        add_kernel[(1024,)](x, y, out, 1 << 20, BLOCK_SIZE=1024)

    run()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out.zero_()
        run()
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(out, x + y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    out.zero_()
    x.mul_(2)
    graph.replay()
    assert torch.equal(out, x + y)
    outs = [torch.zeros_like(x) for _ in range(8)]
    threads = [threading.Thread(target=lambda o=o: [run(o) for _ in range(50)]) for o in outs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(torch.equal(o, x + y) for o in outs)


def user_kernels_in_compiled_code():
    @torch.compile(fullgraph=True)
    def f(x, y):
        out = torch.empty_like(x)
        add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)](x.sin(), y, out, x.numel(), BLOCK_SIZE=1024)
        return out * 2

    for n in (5000, 7777):
        x, y = torch.rand(n, device=DEVICE), torch.rand(n, device=DEVICE)
        torch.testing.assert_close(f(x, y), (x.sin() + y) * 2)


def what_is_wrong():
    x = torch.rand(64, device=DEVICE)
    for call, error in ((lambda: add_kernel[(1,)](x, x.cpu(), x, 64, BLOCK_SIZE=64), ValueError),
                        (lambda: add_kernel[(1,)](x, x, x, BLOCK_SIZE=64), TypeError),
                        (lambda: add_kernel[(1,)](x, x, x, 64, BLOCK_SIZE=63), Exception)):
        try:
            call()
        except error:
            continue
        raise AssertionError(f"{error.__name__} was expected")
    kernel = add_kernel[(1,)](x, x, x, 64, BLOCK_SIZE=64)
    assert kernel.n_regs > 0 and kernel.n_spills == 0 and kernel.metadata.num_warps == 4 and ".entry" in kernel.asm["ptx"]
    names = []
    hook = (lambda metadata: names.append(metadata.get()["name"]))
    triton.knobs.runtime.launch_enter_hook.add(hook)
    add_kernel[(1,)](x, x, x, 64, BLOCK_SIZE=64)
    triton.knobs.runtime.launch_enter_hook.remove(hook)
    add_kernel[(1,)](x, x, x, 64, BLOCK_SIZE=64)
    assert names == ["add_kernel"]


LESSONS = (graphs_and_streams, user_kernels_in_compiled_code, what_is_wrong, vector_add, fused_softmax, matmul, dropout, layer_norm, attention, extern_functions, grouped, descriptors)
if __name__ == "__main__":
    failed = 0
    for lesson in LESSONS:
        if sys.argv[1:] and lesson.__name__ not in sys.argv[1:]:
            continue
        try:
            torch.manual_seed(0)
            lesson()
            print(f"lesson {lesson.__name__}: good", flush=True)
        except Exception as e:
            failed += 1
            traceback.print_exc()
            print(f"lesson {lesson.__name__}: FAILED {type(e).__name__}: {str(e).splitlines()[0][:150] if str(e) else ''}", flush=True)
    sys.exit(failed > 0)
