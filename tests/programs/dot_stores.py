# runs: interpreter emulator cuda triton triton-interpret
# Tests products that are stored through tensor maps if the launch allows it, and otherwise without them: rows whose
# end is aligned or not, through pointers and through descriptors of host and device, also in a loop over tiles.
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def by_pointers(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * sam + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * sbk + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * scm + n[None, :], acc.to(C.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def by_device_descriptors(A, B, C, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(A, shape=[M, K], strides=[sam, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(B, shape=[K, N], strides=[sbk, 1], block_shape=[BK, BN])
    c_desc = tl.make_tensor_descriptor(C, shape=[M, N], strides=[scm, 1], block_shape=[BM, BN])
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc.to(C.dtype.element_ty))


@triton.jit
def by_host_descriptors(a_desc, b_desc, c_desc, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                        BK: tl.constexpr, FLATTEN: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, PROGRAMS, flatten=FLATTEN):
        m = tile // tiles_n * BM
        n = tile % tiles_n * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            a = a_desc.load([m, k * BK])
            b = b_desc.load([n, k * BK])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([m, n], acc.to(c_desc.dtype))


def padded(rows, columns, stride, dtype=torch.float16):
    return torch.randn(rows, stride, device=DEVICE).to(dtype)[:, :columns]


def check(name, n, c, guard, expected):
    worst = (c.float() - expected).abs().max().item()
    print(name, n, c.dtype, "good" if worst < 0.05 and (guard == 7).all().item() else f"WRONG {worst} {guard}")


torch.manual_seed(0)
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))
M, K, BM, BN, BK = 130, 72, 64, 64, 32
for dtype in (torch.float16, torch.float32):
    for N in (136, 132, 131):
        a, b = padded(M, K, 80), padded(K, N, 144)
        bt = padded(N, K, 80)
        expected = a.float() @ b.float()
        for name, kernel in (("pointers", by_pointers), ("device", by_device_descriptors)):
            wide = torch.full((M, 144), 7, device=DEVICE, dtype=dtype)
            c = wide[:, :N]
            kernel[(3, 3)](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BM, BN, BK)
            check(name, N, c, wide[:, N:], expected)
        wide = torch.full((M, 144), 7, device=DEVICE, dtype=dtype)
        c = wide[:, :N]
        by_host_descriptors[(4,)](TensorDescriptor(a, a.shape, a.stride(), [BM, BK]),
                                  TensorDescriptor(bt, bt.shape, bt.stride(), [BN, BK]),
                                  TensorDescriptor(c, c.shape, c.stride(), [BM, BN]), M, N, K, 4, BM, BN, BK, True)
        check("host", N, c, wide[:, N:], a.float() @ bt.float().t())

# the tile is stored in parts, and a CTA runs several programs
M, N, K = 260, 520, 64
a, b = padded(M, K, 64), padded(N, K, 64)
c = torch.full((M, N), 7, device=DEVICE, dtype=torch.float32)
by_host_descriptors[(2,)](TensorDescriptor(a, a.shape, a.stride(), [128, 32]), TensorDescriptor(b, b.shape, b.stride(), [256, 32]),
                          TensorDescriptor(c, c.shape, c.stride(), [128, 256]), M, N, K, 2, 128, 256, 32, True, num_warps=8)
check("parts", N, c, torch.full((1,), 7), a.float() @ b.float().t())

# expect:
# pointers 136 torch.float16 good
# device 136 torch.float16 good
# host 136 torch.float16 good
# pointers 132 torch.float16 good
# device 132 torch.float16 good
# host 132 torch.float16 good
# pointers 131 torch.float16 good
# device 131 torch.float16 good
# host 131 torch.float16 good
# pointers 136 torch.float32 good
# device 136 torch.float32 good
# host 136 torch.float32 good
# pointers 132 torch.float32 good
# device 132 torch.float32 good
# host 132 torch.float32 good
# pointers 131 torch.float32 good
# device 131 torch.float32 good
# host 131 torch.float32 good
# parts 520 torch.float32 good
