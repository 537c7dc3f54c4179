# The lecture's product of 3x4 and 4x5 matrices uses blocks of 16x16, but its loads have no masks.
import torch
import triton
import triton.language as tl

@triton.jit
def naive_matmul_k(a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                   bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    rm = pid_m * bm + tl.arange(0, bm)
    rn = pid_n * bn + tl.arange(0, bn)
    rk = tl.arange(0, bk)
    offs_a = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    offs_b = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((bm, bn), dtype=tl.float32)
    for _ in range(0, k, bk):
        a = tl.load(offs_a)
        b = tl.load(offs_b)
        acc += tl.dot(a, b)
        offs_a += bk * stride_ak
        offs_b += bk * stride_bk
    c = c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn
    mask = (rm[:, None] < m) & (rn[None, :] < n)
    tl.store(c, acc, mask=mask)

a = torch.ones((3, 4), dtype=torch.float32, device='cuda')
b = torch.ones((4, 5), dtype=torch.float32, device='cuda')
c = torch.empty((3, 5), dtype=torch.float32, device='cuda')
naive_matmul_k[(1, 1)](a, b, c, 3, 5, 4, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), bm=16, bn=16, bk=16)
print(c)

# expect: exit 1
# matmul-of-tiles-larger-than-tensors.py:17:13: error: access out of bounds in program (0, 0, 0): element (0, 12) of the tile is index 12, [3, 0], of 'a_ptr', which is float32[3, 4]; 232 of the 256 elements accessed are outside [out-of-bounds]
#    17 |         a = tl.load(offs_a)
#       |             ^~~~~~~~~~~~~~~
# matmul-of-tiles-larger-than-tensors.py:29:1: note: launched here, which raises RuntimeError
