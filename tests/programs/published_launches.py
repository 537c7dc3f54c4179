# runs: interpreter emulator cuda (not tested with triton yet)
# bits: tuning chooses the block, so the number of programs differs
# Tests options of launches: hooks that run before a configuration, tensors that tuning must not change, hints, and functions as constants.
import torch, triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': 64}, num_warps=2, pre_hook=lambda nargs: nargs["C"].zero_()), triton.Config({'B': 128}, num_warps=4)],
                 key=['n'], reset_to_zero=['S'], restore_value=['X'], warmup=2, rep=4)
@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["m"])
def k(X, S, C, n, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + i, mask=i < n, other=0.0, cache_modifier=".cg", eviction_policy="evict_first")
    tl.store(X + i, x + 1, mask=i < n, cache_modifier=".wb")
    tl.atomic_add(S, tl.sum(x), sem="relaxed", scope="gpu")
    tl.atomic_add(C, 1)

x = torch.arange(200, device="cuda", dtype=torch.float32); s = torch.zeros(1, device="cuda"); c = torch.zeros(1, device="cuda", dtype=torch.int32)
grid = lambda META: (triton.cdiv(200, META['B']),)
k[grid](x, s, c, 200, 16)
assert x.tolist() == [i + 1.0 for i in range(200)], x[:4]
assert s.item() == 19900.0, s
print(sorted(k.best_config.kwargs), k.best_config.num_stages)

@triton.jit
def st(X, Y, N: tl.constexpr, FN: tl.constexpr, DT: tl.constexpr, NAME: tl.constexpr = "a"):
    for j in tl.static_range(0, N):
        if j % 2 == 0:
            v = tl.load(X + j)
        else:
            v = FN(tl.load(X + j))
        if NAME == "a" and DT is not None:
            tl.store(Y + j, v.to(DT))
        elif NAME in ("b", "c"):
            tl.store(Y + j, v)
        tl.device_assert(v >= 0, "negative")
@triton.jit
def neg2(x): return 2 * x
y = torch.empty(4, device="cuda", dtype=torch.float16)
st[(1,)](x, y, 4, neg2, tl.float16)
assert y.tolist() == [1, 4, 3, 8]

@triton.jit
def softmax_online(O, X, sx, n, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    m = tl.full((), float("-inf"), tl.float32)
    d = tl.zeros((), tl.float32)
    for s in tl.range(0, n, B, num_stages=2):
        c = s + tl.arange(0, B)
        v = tl.load(X + r * sx + c, mask=c < n, other=float("-inf")).to(tl.float32)
        mn = tl.maximum(m, tl.max(v, 0))
        d = d * tl.exp(m - mn) + tl.sum(tl.exp(v - mn), 0)
        m = mn
    for s in range(0, n, B):
        c = s + tl.arange(0, B)
        v = tl.load(X + r * sx + c, mask=c < n, other=0)
        tl.store(O + r * sx + c, tl.exp(v.to(tl.float32) - m) / d, mask=c < n)
a = torch.randn(7, 300, device="cuda", dtype=torch.bfloat16); o = torch.empty_like(a)
softmax_online[(7,)](o, a, a.stride(0), 300, B=64)
torch.testing.assert_close(o, torch.softmax(a, dim=-1), atol=1e-2, rtol=1e-2)

@triton.jit
def transpose(I, O, M, N, BM: tl.constexpr, BN: tl.constexpr):
    pm = tl.program_id(0); pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM); rn = pn * BN + tl.arange(0, BN)
    t = tl.load(I + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N))
    tl.store(O + rn[:, None] * M + rm[None, :], tl.trans(t), mask=(rn[:, None] < N) & (rm[None, :] < M))
b = torch.randn(70, 50, device="cuda"); bt = torch.empty(50, 70, device="cuda")
transpose[(3, 2)](b, bt, 70, 50, 32, 32)
assert torch.equal(bt, b.T)

@triton.jit
def bmm(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BT: tl.constexpr):
    z = tl.arange(0, BT); m = tl.arange(0, M); n = tl.arange(0, N); kk = tl.arange(0, K)
    a = tl.load(A + z[:, None, None] * M * K + m[None, :, None] * K + kk[None, None, :])
    b = tl.load(B + z[:, None, None] * K * N + kk[None, :, None] * N + n[None, None, :])
    c = tl.dot(a, b, input_precision="ieee")
    tl.store(C + z[:, None, None] * M * N + m[None, :, None] * N + n[None, None, :], c)
for dt in (torch.float32, torch.float16, torch.float64):
    a3 = torch.randn(4, 16, 32, device="cuda", dtype=dt); b3 = torch.randn(4, 32, 16, device="cuda", dtype=dt); c3 = torch.empty(4, 16, 16, device="cuda", dtype=torch.float64 if dt == torch.float64 else torch.float32)
    bmm[(1,)](a3, b3, c3, 16, 16, 32, 4)
    torch.testing.assert_close(c3, torch.bmm(a3.to(c3.dtype), b3.to(c3.dtype)), atol=1e-4, rtol=1e-4)
print("ok")
