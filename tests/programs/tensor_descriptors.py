# runs: interpreter emulator cuda triton (not triton-interpret: it has no reductions into descriptors)
# Tests tensor descriptors that kernels make: products, also with
# many tiles per program, edges, batches, gathered rows and atomics.
import torch
import triton
import triton.language as tl


def allocate(size, alignment, stream):
    return torch.empty(size, device='cuda', dtype=torch.int8)


triton.set_allocator(allocate)


@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    a_desc = tl.make_tensor_descriptor(A, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(B, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = a_desc.load([pid_m * BM, k])
        b = tl.load_tensor_descriptor(b_desc, [pid_n * BN, k])
        acc = tl.dot(a, b.T, acc)
    c_desc.store([pid_m * BM, pid_n * BN], acc.to(c_desc.dtype))


@triton.jit
def compute_pid(tile_id, num_pid_in_group, num_pid_m, GROUP: tl.constexpr):
    group_id = tile_id // num_pid_in_group
    first_pid_m = group_id * GROUP
    group_size = min(num_pid_m - first_pid_m, GROUP)
    return first_pid_m + (tile_id % group_size), (tile_id % num_pid_in_group) // group_size


@triton.jit
def persistent(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
               PROGRAMS: tl.constexpr, SPLIT: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(A, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(B, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BM, BN // 2 if SPLIT else BN])
    start_pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    k_tiles = tl.cdiv(K, BK)
    num_tiles = num_pid_m * num_pid_n
    num_pid_in_group = GROUP * num_pid_n
    tile_id_c = start_pid - PROGRAMS
    for tile_id in tl.range(start_pid, num_tiles, PROGRAMS, flatten=True):
        pid_m, pid_n = compute_pid(tile_id, num_pid_in_group, num_pid_m, GROUP)
        offs_am = pid_m * BM
        offs_bn = pid_n * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for ki in range(k_tiles):
            offs_k = ki * BK
            a = a_desc.load([offs_am, offs_k])
            b = b_desc.load([offs_bn, offs_k])
            acc = tl.dot(a, b.T, acc)
        tile_id_c += PROGRAMS
        pid_m, pid_n = compute_pid(tile_id_c, num_pid_in_group, num_pid_m, GROUP)
        offs_cm = pid_m * BM
        offs_cn = pid_n * BN
        if SPLIT:
            halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c_desc.store([offs_cm, offs_cn], left.to(tl.float16))
            c_desc.store([offs_cm, offs_cn + BN // 2], right.to(tl.float16))
        else:
            c_desc.store([offs_cm, offs_cn], acc.to(tl.float16))


@triton.jit
def batched(X, Y, B, M, N, up, BM: tl.constexpr, BN: tl.constexpr):
    # one block of a batch, which may begin before the first row and end after the last; a descriptor is passed to a function
    x = tl.make_tensor_descriptor(X, [B, M, N], [M * N, N, 1], [1, BM, BN], padding_option="nan")
    y = tl.make_tensor_descriptor(Y, [B, BM, BN], [BM * BN, BN, 1], [1, BM, BN])
    batch = tl.program_id(0)
    tl.store_tensor_descriptor(y, [batch, 0, 0], x.load([batch, up, 0]))


@triton.jit
def added(X, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(X, [M, N], [N, 1], [BM, BN])
    x.atomic_add([0, 4], tl.full((BM, BN), 2.0, tl.float32))


def check(kernel, grid, M, N, K, *more):
    a = torch.randn((M, K), device='cuda', dtype=torch.float16)
    b = torch.randn((N, K), device='cuda', dtype=torch.float16)
    c = torch.full((M, N), 7.0, device='cuda', dtype=torch.float16)
    kernel[grid](a, b, c, M, N, K, *more)
    assert torch.allclose(c, torch.matmul(a, b.t()), atol=2e-2, rtol=2e-2), (M, N, K)


torch.manual_seed(0)
check(matmul, (2, 2), 128, 128, 128, 64, 64, 32)
check(matmul, (2, 3), 120, 136, 72, 64, 64, 32)
for split in (False, True):
    check(persistent, (3,), 328, 264, 128, 64, 64, 64, 2, 3, split)
    check(persistent, (4,), 64, 128, 8, 64, 64, 32, 8, 4, split)

for up in (0, -2, 3):
    x = torch.randn((3, 10, 12), device='cuda')
    y = torch.zeros((3, 8, 16), device='cuda')
    batched[(3,)](x, y, 3, 10, 12, up, 8, 16)
    x, y = x.cpu(), y.cpu()
    for i in range(8):
        for k in range(16):
            inside = 0 <= up + i < 10 and k < 12
            found = y[2, i, k].item()
            assert found == x[2, up + i, k].item() if inside else found != found, (up, i, k)

x = torch.zeros((6, 12), device='cuda')
added[(2,)](x, 6, 12, 8, 16)
assert torch.equal(x[:, :4], torch.zeros((6, 4), device='cuda')) and torch.equal(x[:, 4:], torch.full((6, 8), 4.0, device='cuda'))
print("ok")

# expect:
# ok
