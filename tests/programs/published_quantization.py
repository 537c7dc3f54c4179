# runs: interpreter emulator cuda triton
# Tests quantization to int8 and fp8 by rows and by groups, and dequantization.
# spills: a tile of 128x128 has 128 elements per thread, and their offsets
import torch, triton
import triton.language as tl

@triton.jit
def quantize_rowwise(x_ptr, output_ptr, output_maxs, n_elements, BLOCK_SIZE: tl.constexpr, P2: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    arange = tl.arange(0, P2)
    offsets = block_start + arange
    row_mask = arange < BLOCK_SIZE
    x = tl.load(x_ptr + offsets, mask=row_mask)
    abs_x = tl.abs(x)
    max_val = tl.max(tl.where(row_mask, abs_x, 0), axis=0)
    output = tl.extra.cuda.libdevice.llrint(127.0 * (x / max_val))
    tl.store(output_ptr + offsets, output, mask=row_mask)
    tl.store(output_maxs + pid, max_val)

@triton.jit
def per_token_group_quant_8bit(y_ptr, y_q_ptr, y_s_ptr, y_stride, N, eps, bit8_min, bit8_max, BLOCK: tl.constexpr):
    g_id = tl.program_id(0)
    y_ptr += g_id * y_stride
    y_q_ptr += g_id * y_stride
    y_s_ptr += g_id
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    _absmax = tl.maximum(tl.max(tl.abs(y)), eps)
    y_s = _absmax / bit8_max
    y_q = tl.clamp(y / y_s, bit8_min, bit8_max).to(y_q_ptr.dtype.element_ty)
    tl.store(y_q_ptr + cols, y_q, mask=mask)
    tl.store(y_s_ptr, y_s)

@triton.jit
def act_quant_kernel(x_ptr, y_ptr, s_ptr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs).to(tl.float32)
    s = tl.max(tl.abs(x)) / 448.
    y = x / s
    y = y.to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + offs, y)
    tl.store(s_ptr + pid, s)

@triton.jit
def weight_dequant_kernel(x_ptr, s_ptr, y_ptr, M, N, BLOCK_SIZE: tl.constexpr):
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    n = tl.cdiv(N, BLOCK_SIZE)
    offs_m = pid_m * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    offs_n = pid_n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    offs = offs_m[:, None] * N + offs_n[None, :]
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    s = tl.load(s_ptr + pid_m * n + pid_n)
    y = x * s
    tl.store(y_ptr + offs, y, mask=mask)

torch.manual_seed(0)
x = torch.randn(64, 300, device="cuda")
q = torch.empty(x.shape, dtype=torch.int8, device=x.device); mx = torch.empty(x.shape[0], device=x.device)
quantize_rowwise[lambda meta: (x.shape[0],)](x, q, mx, x.numel(), BLOCK_SIZE=300, P2=int(2 ** (torch.tensor(300).log2().ceil().item())))
ref = torch.round(127 * x / x.abs().amax(dim=1, keepdim=True)).to(torch.int8)
assert (q.int() - ref.int()).abs().max() <= 1
assert torch.equal(mx, x.abs().max(dim=-1).values)
g = 128
y = torch.randn(8, 512, device="cuda", dtype=torch.bfloat16)
for dt in (torch.int8, torch.float8_e4m3fn):
    info = torch.iinfo(dt) if dt == torch.int8 else torch.finfo(dt)
    yq = torch.empty_like(y, dtype=dt); ys = torch.empty(y.shape[:-1] + (y.shape[-1] // g,), device=y.device, dtype=torch.float32)
    per_token_group_quant_8bit[(y.numel() // g,)](y, yq, ys, g, g, 1e-10, bit8_min=float(info.min), bit8_max=float(info.max), BLOCK=g, num_warps=1, num_stages=1)
    back = (yq.to(torch.float32).view(8, 4, g) * ys.unsqueeze(-1)).view(8, 512)
    assert torch.allclose(back, y.float(), atol=0.15), (back - y.float()).abs().max()
xs = torch.randn(4, 256, device="cuda")
yy = torch.empty_like(xs, dtype=torch.float8_e4m3fn)
s = xs.new_empty(*xs.size()[:-1], xs.size(-1) // 128, dtype=torch.float32)
grid = lambda meta: (triton.cdiv(xs.numel(), meta['BLOCK_SIZE']), )
act_quant_kernel[grid](xs, yy, s, BLOCK_SIZE=128)
sc = xs.view(4, 2, 128).abs().amax(-1) / 448.
torch.testing.assert_close(s, sc)
w = torch.randn(200, 260, device="cuda").to(torch.float8_e5m2)
ws = torch.rand(2, 3, device="cuda") + 0.5
out = torch.empty_like(w, dtype=torch.float32)
weight_dequant_kernel[lambda meta: (triton.cdiv(200, meta['BLOCK_SIZE']), triton.cdiv(260, meta['BLOCK_SIZE']))](w, ws, out, 200, 260, BLOCK_SIZE=128)
wr = w.float() * ws.repeat_interleave(128, 0).repeat_interleave(128, 1)[:200, :260]
torch.testing.assert_close(out, wr)
print("ok")
