# runs: interpreter emulator cuda triton triton-interpret
# Tests an autotuned product, with pruning and a heuristic, whose weights of four bits the kernel unpacks.
import torch, triton
import triton.language as tl

def get_configs():
    return [triton.Config({'BM': bm, 'BN': bn, 'BK': 32}, num_stages=s, num_warps=w) for bm in [16, 32] for bn in [32, 64] for (s, w) in [(2, 4), (3, 2)]]

def prune(configs, named_args, **kwargs):
    M = named_args["M"]
    kept = [c for c in configs if c.kwargs["BM"] <= max(16, M)]
    return kept[:2]

@triton.autotune(configs=get_configs(), key=['M', 'N', 'K'], prune_configs_by={'early_config_prune': prune})
@triton.heuristics({'EVEN_K': lambda args: args['K'] % args['BK'] == 0})
@triton.jit
def w4_matmul(a_ptr, qw_ptr, s_ptr, z_ptr, c_ptr, M, N, K, group, sam, sak, sqk, sqn, ssg, ssn, szg, szn, scm, scn,
              BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    rn = tl.max_contiguous(tl.multiple_of(rn, BN), BN)
    a_ptrs = a_ptr + rm[:, None] * sam + rk[None, :] * sak
    q_ptrs = qw_ptr + (rk[:, None] // 8) * sqk + rn[None, :] * sqn
    shifter = (rk % 8) * 4
    zshift = (rn % 8) * 4
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        if EVEN_K:
            a = tl.load(a_ptrs, mask=rm[:, None] < M, other=0.)
        else:
            a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] + k * BK < K), other=0.)
        q = tl.load(q_ptrs, mask=rn[None, :] < N, other=0)
        g = k * BK // group
        s = tl.load(s_ptr + g * ssg + rn * ssn, mask=rn < N, other=0.)
        z = tl.load(z_ptr + g * szg + (rn // 8) * szn, mask=rn < N, other=0)
        z = (z >> zshift) & 0xF
        w = (q >> shifter[:, None]) & 0xF
        b = ((w - z[None, :]) * s[None, :]).to(a.dtype)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * sak
        q_ptrs += (BK // 8) * sqk
    tl.store(c_ptr + rm[:, None] * scm + rn[None, :] * scn, acc.to(c_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))

M, N, K, G = 20, 64, 128, 64
torch.manual_seed(0)
a = (torch.randn(M, K, device="cuda") / 4).to(torch.float16)
w = torch.randint(0, 16, (K, N), device="cuda", dtype=torch.int32)
z = torch.randint(0, 16, (K // G, N), device="cuda", dtype=torch.int32)
s = (torch.rand(K // G, N, device="cuda") / 8).half()
qw = torch.zeros(K // 8, N, dtype=torch.int32, device="cuda")
for i in range(8):
    qw |= w[i::8, :] << (4 * i)
qz = torch.zeros(K // G, N // 8, dtype=torch.int32, device="cuda")
for i in range(8):
    qz = qz | (z[:, i::8] << (i * 4))
c = torch.empty(M, N, device="cuda", dtype=torch.float16)
w4_matmul[lambda META: (triton.cdiv(M, META['BM']), triton.cdiv(N, META['BN']))](a, qw, s, qz, c, M, N, K, G, a.stride(0), a.stride(1), qw.stride(0), qw.stride(1),
    s.stride(0), s.stride(1), qz.stride(0), qz.stride(1), c.stride(0), c.stride(1))
deq = ((w - z.repeat_interleave(G, dim=0)).float() * s.repeat_interleave(G, dim=0).float()).half()
torch.testing.assert_close(c, torch.matmul(a.float(), deq.float()).half(), atol=2e-2, rtol=2e-2)
assert w4_matmul.best_config.kwargs['BK'] == 32
print("ok", w4_matmul.best_config.num_warps in (2, 4))
