# runs: interpreter emulator cuda triton triton-interpret
# A loop has several dots, and between them branches without side effects. A branch reads results
# of dots only in its arms, and must stay after these dots when the compiler starts the dots early.
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def chain(Q, K, V, S, Out, rounds, N: tl.constexpr, D: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    at = n[:, None] * D + d[None, :]
    first = tl.program_id(0) == 0
    total = tl.zeros((N, D), dtype=tl.float32)
    row = tl.zeros((1, D), dtype=tl.float32)
    for i in range(rounds):
        q = tl.load(Q + i * N * D + at)
        k = tl.load(K + i * N * D + at)
        v = tl.load(V + i * N * D + at)
        s = tl.dot(q, tl.trans(k))
        if first:
            s += tl.load(S + i * N + n)[:, None]
        p = tl.dot(v, tl.trans(k))
        if first:
            p = tl.where(n[:, None] >= n[None, :], p, 0.0)
        else:
            p = p * 0.5
        total += tl.dot(s.to(q.dtype), v)
        if first:
            total += row
        total += tl.dot(p.to(q.dtype), q)
        if first:
            row += tl.sum(q.to(tl.float32), axis=0)[None, :]
    tl.store(Out + tl.program_id(0) * N * D + at, total)


def expected(q, k, v, s, first):
    total, row = torch.zeros(N, D, dtype=torch.float32), torch.zeros(1, D, dtype=torch.float32)
    triangle = torch.tensor([[1.0 if i >= j else 0.0 for j in range(N)] for i in range(N)])
    for i in range(rounds):
        scores, p = q[i] @ k[i].T, v[i] @ k[i].T
        scores = scores + s[i][:, None] if first else scores
        p = p * triangle if first else p * 0.5
        total = total + scores.half().float() @ v[i] + p.half().float() @ q[i]
        if first:
            total, row = total + row, row + q[i].sum(0)[None, :]
    return total


torch.manual_seed(0)
N, D, rounds = 64, 64, 3
q, k, v = (torch.randint(-2, 3, (rounds, N, D), device=DEVICE).to(torch.float16) for _ in range(3))
s = torch.randint(-2, 3, (rounds, N), device=DEVICE).to(torch.float32)
depths = [1]
if not triton.__version__.startswith('3.6'):  # Triton 3.6 fails when it pipelines the loop: "PassManager::run failed"
    depths.append(3)
for warps, stages in [(w, s) for w in (4, 8) for s in depths]:
    out = torch.empty(2, N, D, device=DEVICE, dtype=torch.float32)
    chain[(2,)](q, k, v, s, out, rounds, N, D, num_warps=warps, num_stages=stages)
    for pid in range(2):
        wanted = expected(q.float().cpu(), k.float().cpu(), v.float().cpu(), s.cpu(), pid == 0)
        worst = (out[pid].cpu() - wanted).abs().max().item()
        assert worst <= 0.001 * wanted.abs().max().item(), f"{warps} warps, {stages} stages, program {pid}: off by {worst}"
print("ok")
