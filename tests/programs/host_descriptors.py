# runs: interpreter emulator cuda triton triton-interpret
# Tests tensor descriptors that the host makes: products with one or many tiles per program,
# tuning with a hook that sets the block shapes, descriptors together with tuples, and padding.
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def compute_pid(tile_id, num_pid_in_group, num_pid_m, GROUP_SIZE_M: tl.constexpr):
    group_id = tile_id // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + (tile_id % group_size_m)
    pid_n = (tile_id % num_pid_in_group) // group_size_m
    return pid_m, pid_n


def set_blocks(nargs):
    block_m, block_n, block_k = nargs["BLOCK_SIZE_M"], nargs["BLOCK_SIZE_N"], nargs["BLOCK_SIZE_K"]
    nargs["a_desc"].block_shape = [block_m, block_k]
    nargs["b_desc"].block_shape = [block_n, block_k]
    nargs["c_desc"].block_shape = [block_m, block_n // 2 if nargs["SUBTILE"] else block_n]


configs = [triton.Config({'BLOCK_SIZE_M': 64, 'BLOCK_SIZE_N': n, 'BLOCK_SIZE_K': 32, 'GROUP_SIZE_M': 2, 'SUBTILE': s}, pre_hook=set_blocks)
           for n, s in ((64, False), (32, True))]


@triton.autotune(configs=configs, key=["M", "N", "K"])
@triton.jit
def persistent(a_desc, b_desc, c_desc, M, N, K, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr,
               BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr, SUBTILE: tl.constexpr, NUM_SMS: tl.constexpr):
    dtype = tl.float16
    start_pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    k_tiles = tl.cdiv(K, BLOCK_SIZE_K)
    num_tiles = num_pid_m * num_pid_n
    tile_id_c = start_pid - NUM_SMS
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    for tile_id in tl.range(start_pid, num_tiles, NUM_SMS, flatten=True):
        pid_m, pid_n = compute_pid(tile_id, num_pid_in_group, num_pid_m, GROUP_SIZE_M)
        offs_am = pid_m * BLOCK_SIZE_M
        offs_bn = pid_n * BLOCK_SIZE_N
        accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
        for ki in range(k_tiles):
            offs_k = ki * BLOCK_SIZE_K
            a = a_desc.load([offs_am, offs_k])
            b = b_desc.load([offs_bn, offs_k])
            accumulator = tl.dot(a, b.T, accumulator)
        tile_id_c += NUM_SMS
        pid_m, pid_n = compute_pid(tile_id_c, num_pid_in_group, num_pid_m, GROUP_SIZE_M)
        offs_cm = pid_m * BLOCK_SIZE_M
        offs_cn = pid_n * BLOCK_SIZE_N
        if SUBTILE:
            acc = tl.reshape(accumulator, (BLOCK_SIZE_M, 2, BLOCK_SIZE_N // 2))
            acc = tl.permute(acc, (0, 2, 1))
            acc0, acc1 = tl.split(acc)
            c_desc.store([offs_cm, offs_cn], acc0.to(dtype))
            c_desc.store([offs_cm, offs_cn + BLOCK_SIZE_N // 2], acc1.to(dtype))
        else:
            c_desc.store([offs_cm, offs_cn], accumulator.to(dtype))


@triton.jit
def copy(x_desc, y_desc, at, ROWS: tl.constexpr):
    row, column = at
    y_desc.store([0, 0], x_desc.load([row, column]) + (x_desc.block_shape[0] - ROWS + x_desc.shape[1] - x_desc.strides[0]))


torch.manual_seed(0)
for M, N, K in ((136, 200, 96), (64, 64, 32)):
    a = torch.randn((M, K), device='cuda', dtype=torch.float16)
    b = torch.randn((N, K), device='cuda', dtype=torch.float16)
    c = torch.full((M, N), 7.0, device='cuda', dtype=torch.float16)
    dummy = [1, 1]
    a_desc = TensorDescriptor(a, a.shape, a.stride(), dummy)
    b_desc = TensorDescriptor(b, [N, K], [K, 1], block_shape=dummy)
    c_desc = TensorDescriptor.from_tensor(c, dummy)
    persistent[(3,)](a_desc, b_desc, c_desc, M, N, K, NUM_SMS=3)
    assert torch.allclose(c, torch.matmul(a, b.t()), atol=2e-2, rtol=2e-2), (M, N, K)

x = torch.randn((10, 12), device='cuda')
for padding in ("zero", "nan"):
    for row, column in ((0, 0), (-2, 4), (4, 8)):
        y = torch.full((8, 8), 7.0, device='cuda')
        copy[(1,)](TensorDescriptor.from_tensor(x, [8, 8], padding), TensorDescriptor.from_tensor(y, [8, 8]), (row, column), 8)
        for i in range(8):
            for k in range(8):
                found = y[i, k].item()
                if 0 <= row + i < 10 and column + k < 12:
                    assert found == x[row + i, column + k].item(), (padding, row, column, i, k)
                else:
                    assert found == 0 if padding == "zero" else found != found, (padding, row, column, i, k)

try:
    TensorDescriptor(x, [10, 12], [12], [8, 8])
except AssertionError as e:
    print("refused")

# expect:
# refused
