# runs: interpreter emulator cuda triton
# Tests two common forms of cross entropy: with capped and scaled logits, and in blocks with gradients.
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

@triton.heuristics({
    "DO_SOFTCAPPING": lambda args: bool(args["DO_SOFTCAPPING"]),
    "DO_LOGIT_SCALING": lambda args: bool(args["DO_LOGIT_SCALING"]),
})
@triton.jit
def _cross_entropy_forward(
    logits_ptr, logits_row_stride,
    loss_ptr, logsumexp_ptr, labels_ptr,
    VOCAB_SIZE: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    DO_SOFTCAPPING: tl.constexpr, SOFTCAP: tl.constexpr,
    DO_LOGIT_SCALING: tl.constexpr, LOGIT_SCALE: tl.constexpr,
):
    row_idx = tl.program_id(0)
    logits_ptr += row_idx * logits_row_stride.to(tl.int64)
    loss_ptr += row_idx
    logsumexp_ptr += row_idx
    labels_ptr += row_idx
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < VOCAB_SIZE
    label_idx = tl.load(labels_ptr).to(tl.int32)
    logits = tl.load(logits_ptr + col_offsets, mask=mask, other=-float("inf"))
    if DO_LOGIT_SCALING: logits = LOGIT_SCALE * logits
    if DO_SOFTCAPPING: logits = SOFTCAP * tl.extra.cuda.libdevice.tanh(logits / SOFTCAP)
    logits = logits.to(tl.float32)
    c = tl.max(logits, 0)
    logsumexp = c + tl.log(tl.sum(tl.exp(logits - c), 0))
    if label_idx != -100:
        x = tl.load(logits_ptr + label_idx)
        if DO_LOGIT_SCALING: x = LOGIT_SCALE * x
        if DO_SOFTCAPPING: x = SOFTCAP * tl.extra.cuda.libdevice.tanh(x / SOFTCAP)
        loss = logsumexp - x.to(tl.float32)
    else:
        loss = 0.0
    tl.store(logsumexp_ptr, logsumexp)
    tl.store(loss_ptr, loss)

@triton.jit
def liger_cross_entropy_kernel(
    X_ptr, X_stride, Y_ptr, Y_stride, loss_ptr, loss_stride, n_cols, n_non_ignore, ignore_index,
    label_smoothing: tl.constexpr, reduction: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):
    program_id = tl.program_id(0).to(tl.int64)
    Y_ptr += program_id * Y_stride
    y = tl.load(Y_ptr)
    X_ptr += program_id * X_stride
    if y == ignore_index:
        for i in range(0, n_cols, BLOCK_SIZE):
            X_offsets = i + tl.arange(0, BLOCK_SIZE)
            tl.store(X_ptr + X_offsets, 0.0, mask=X_offsets < n_cols)
        return
    loss_ptr += program_id * loss_stride
    m = float("-inf")
    d = 0.0
    ori_X_y = tl.load(X_ptr + y)
    scaled_x_sum = 0.0
    eps = label_smoothing / n_cols
    for i in range(0, n_cols, BLOCK_SIZE):
        X_offsets = i + tl.arange(0, BLOCK_SIZE)
        X_block = tl.load(X_ptr + X_offsets, mask=X_offsets < n_cols, other=float("-inf"))
        block_max = tl.max(X_block)
        if label_smoothing > 0:
            scaled_x_sum += tl.sum(tl.where(X_offsets < n_cols, -eps * X_block, 0.0))
        m_new = tl.maximum(m, block_max)
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(X_block - m_new))
        m = m_new
    for i in range(0, n_cols, BLOCK_SIZE):
        X_offsets = i + tl.arange(0, BLOCK_SIZE)
        X_block = tl.load(X_ptr + X_offsets, mask=X_offsets < n_cols, other=float("-inf"))
        if reduction == "mean":
            X_block = (tl.exp(X_block - m) / d - eps) / (n_non_ignore)
        else:
            X_block = tl.exp(X_block - m) / d - eps
        tl.store(X_ptr + X_offsets, X_block, mask=X_offsets < n_cols)
    tl.debug_barrier()
    loss = -(ori_X_y - m - tl.log(d))
    if label_smoothing > 0:
        smooth_loss = scaled_x_sum + label_smoothing * (m + tl.log(d))
        loss = loss * (1 - label_smoothing) + smooth_loss
    if reduction == "mean":
        loss = loss / n_non_ignore
    X_y = tl.load(X_ptr + y)
    if reduction == "mean":
        X_y += -(1 - label_smoothing) / (n_non_ignore)
    else:
        X_y += -(1 - label_smoothing)
    tl.store(loss_ptr, loss)
    tl.store(X_ptr + y, X_y)

torch.manual_seed(1)
R, V = 17, 1000
x = torch.randn(R, V, device="cuda") * 3
y = torch.randint(0, V, (R,), device="cuda")
y[3] = -100
loss = torch.empty(R, dtype=torch.float32, device="cuda"); lse = torch.empty_like(loss)
_cross_entropy_forward[(R,)](x, x.stride(0), loss, lse, y, VOCAB_SIZE=V, BLOCK_SIZE=1024, DO_SOFTCAPPING=0, SOFTCAP=30.0, DO_LOGIT_SCALING=True, LOGIT_SCALE=1.0)
ref = F.cross_entropy(x, y, reduction="none", ignore_index=-100)
torch.testing.assert_close(loss, ref, rtol=1e-4, atol=1e-4)
torch.testing.assert_close(lse, torch.logsumexp(x, dim=-1), rtol=1e-4, atol=1e-4)
_cross_entropy_forward[(R,)](x, x.stride(0), loss, lse, y, VOCAB_SIZE=V, BLOCK_SIZE=1024, DO_SOFTCAPPING=1, SOFTCAP=30.0, DO_LOGIT_SCALING=False, LOGIT_SCALE=1.0)
torch.testing.assert_close(lse, torch.logsumexp(30 * torch.tanh(x / 30), dim=-1), rtol=1e-4, atol=1e-4)
for red in ["mean", "sum"]:
    for ls in (0.0, 0.1):
        xx = x.clone()
        l1 = torch.zeros(R, device=x.device)
        nn = (y != -100).sum().item()
        liger_cross_entropy_kernel[(R,)](xx, xx.stride(-2), y, y.stride(-1), l1, l1.stride(-1), V, nn, -100, label_smoothing=ls, reduction=red, BLOCK_SIZE=512, num_warps=8)
        ref = F.cross_entropy(x, y, reduction=red, ignore_index=-100, label_smoothing=ls)
        torch.testing.assert_close(l1.sum(), ref, rtol=1e-4, atol=1e-4)
print("ok")
