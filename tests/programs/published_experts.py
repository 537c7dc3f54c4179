# runs: interpreter emulator cuda triton triton-interpret
# Tests routing to the best expert, counts by histogram, tokens sorted by expert, and products in which each expert has its own weights.
import torch, triton
import triton.language as tl

@triton.jit
def route_top1(logits, gates, experts, n_tokens, E: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    t = pid * BLOCK + tl.arange(0, BLOCK)
    e = tl.arange(0, E)
    m = t < n_tokens
    x = tl.load(logits + t[:, None] * E + e[None, :], mask=m[:, None], other=-float("inf"))
    mx, arg = tl.max(x, axis=1, return_indices=True)
    den = tl.sum(tl.exp(x - mx[:, None]), axis=1)
    tl.store(gates + t, 1.0 / den, mask=m)
    tl.store(experts + t, arg, mask=m)

@triton.jit
def count_experts(experts, counts, n_tokens, E: tl.constexpr, BLOCK: tl.constexpr):
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = t < n_tokens
    x = tl.load(experts + t, mask=m, other=0)
    h = tl.histogram(x, E, mask=m)
    tl.atomic_add(counts + tl.arange(0, E), h)

@triton.jit
def moe_align_stage1(topk_ids_ptr, tokens_cnts_ptr, num_experts: tl.constexpr, numel: tl.constexpr, tokens_per_thread: tl.constexpr):
    pid = tl.program_id(0)
    start_idx = pid * tokens_per_thread
    off_c = (pid + 1) * num_experts
    for i in range(tokens_per_thread):
        if start_idx + i < numel:
            idx = tl.load(topk_ids_ptr + start_idx + i)
            token_cnt = tl.load(tokens_cnts_ptr + off_c + idx)
            tl.store(tokens_cnts_ptr + off_c + idx, token_cnt + 1)

@triton.jit
def moe_align_stage2(tokens_cnts_ptr, num_experts: tl.constexpr):
    pid = tl.program_id(0)
    last_cnt = 0
    for i in range(1, num_experts + 1):
        token_cnt = tl.load(tokens_cnts_ptr + i * num_experts + pid)
        last_cnt = last_cnt + token_cnt
        tl.store(tokens_cnts_ptr + i * num_experts + pid, last_cnt)

@triton.jit
def fused_moe_kernel(a_ptr, b_ptr, c_ptr, topk_weights_ptr, sorted_token_ids_ptr, expert_ids_ptr, num_tokens_post_padded_ptr,
                     N, K, EM, num_valid_tokens, stride_am, stride_ak, stride_be, stride_bk, stride_bn, stride_cm, stride_cn,
                     BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr,
                     MUL_ROUTED_WEIGHT: tl.constexpr, top_k: tl.constexpr, compute_type: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(EM, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    num_tokens_post_padded = tl.load(num_tokens_post_padded_ptr)
    if pid_m * BLOCK_SIZE_M >= num_tokens_post_padded:
        return
    offs_token_id = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M).to(tl.int64)
    offs_token = tl.load(sorted_token_ids_ptr + offs_token_id)
    token_mask = offs_token < num_valid_tokens
    off_experts = tl.load(expert_ids_ptr + pid_m).to(tl.int64)
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N).to(tl.int64)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_token[:, None] // top_k * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + off_experts * stride_be + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=token_mask[:, None] & (offs_k[None, :] < K - k * BLOCK_SIZE_K), other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if MUL_ROUTED_WEIGHT:
        moe_weight = tl.load(topk_weights_ptr + offs_token, mask=token_mask, other=0)
        accumulator = accumulator * moe_weight[:, None]
    accumulator = accumulator.to(compute_type)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_token[:, None] + stride_cn * offs_cn[None, :]
    c_mask = token_mask[:, None] & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator, mask=c_mask)

torch.manual_seed(0)
T, E, K, N = 100, 8, 96, 80
logits = torch.randn(T, E, device="cuda")
gates = torch.empty(T, device="cuda"); experts = torch.empty(T, device="cuda", dtype=torch.int32)
route_top1[(triton.cdiv(T, 32),)](logits, gates, experts, T, E=E, BLOCK=32)
probs = torch.softmax(logits, dim=-1)
topv, topi = torch.topk(probs, 1, dim=-1)
torch.testing.assert_close(gates, topv.squeeze(-1))
assert torch.equal(experts.long(), topi.squeeze(1))
counts = torch.zeros(E, dtype=torch.int32, device="cuda")
count_experts[(triton.cdiv(T, 32),)](experts, counts, T, E=E, BLOCK=32)
assert torch.equal(counts, torch.bincount(experts, minlength=E).to(torch.int32))
tokens_cnts = torch.zeros((E + 1, E), dtype=torch.int32, device=experts.device)
tpt = triton.cdiv(T, E)
moe_align_stage1[(E,)](experts, tokens_cnts, E, T, tpt)
moe_align_stage2[(E,)](tokens_cnts, E)
assert torch.equal(tokens_cnts[-1], counts)
BM = 16
sorted_ids, expert_ids = [], []
el = experts.tolist()
for e in range(E):
    ids = [i for i in range(T) if el[i] == e]
    while len(ids) % BM: ids.append(T)
    sorted_ids += ids
    expert_ids.extend([e] * (len(ids) // BM))
sid = torch.tensor(sorted_ids, dtype=torch.int32, device="cuda"); eid = torch.tensor(expert_ids, dtype=torch.int32, device="cuda")
post = torch.tensor([len(sorted_ids)], dtype=torch.int32, device="cuda")
a = torch.randn(T, K, device="cuda", dtype=torch.float16) / 8
b = torch.randn(E, N, K, device="cuda", dtype=torch.float16) / 8
c = torch.zeros(T, N, device="cuda", dtype=torch.float16)
config = {"BLOCK_SIZE_M": BM, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8}
grid = lambda META: (triton.cdiv(sid.shape[0], META['BLOCK_SIZE_M']) * triton.cdiv(b.shape[1], META['BLOCK_SIZE_N']), )
fused_moe_kernel[grid](a, b, c, gates, sid, eid, post, b.shape[1], b.shape[2], sid.shape[0], T, a.stride(0), a.stride(1),
    b.stride(0), b.stride(2), b.stride(1), c.stride(0), c.stride(1), MUL_ROUTED_WEIGHT=True, top_k=1, compute_type=tl.float16, **config)
ref = (b[experts.long()].float() @ a.float()[:, :, None]).squeeze(-1) * gates[:, None]
torch.testing.assert_close(c.float(), ref, atol=1e-2, rtol=1e-2)
print("ok")
