# runs: interpreter emulator cuda triton triton-interpret
# The scratch memory of a conversion must not overlap a buffer that the dot of the previous iteration still reads. An operand that the loop
# computes has one buffer, and the loop waits for the dot only before it writes this buffer. Computes the state of a chunk in Mamba-2.
import torch
import triton
import triton.language as tl


@triton.jit
def ssd_chunk_state(X, B, DT, DA, States, stride_xt, stride_bt, H: tl.constexpr, HEAD: tl.constexpr, STATE: tl.constexpr,
                    CHUNK: tl.constexpr, GROUPS: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_T: tl.constexpr):
    # Mamba-2: state of a chunk [HEAD, STATE] = sum over t of exp(da_last - da_t) dt_t x_t (outer) b_t
    # X: T x H x HEAD; B: T x GROUPS x STATE; DT, DA (cumulative in its chunk): chunks x H x CHUNK
    chunk = tl.program_id(1)
    h = tl.program_id(2)
    p = (tl.program_id(0) // (STATE // BLOCK_N)) * BLOCK_P + tl.arange(0, BLOCK_P)
    n = (tl.program_id(0) % (STATE // BLOCK_N)) * BLOCK_N + tl.arange(0, BLOCK_N)
    t = tl.arange(0, BLOCK_T)
    x_ptrs = X + (chunk * CHUNK + t)[None, :] * stride_xt + h * HEAD + p[:, None]
    b_ptrs = B + (chunk * CHUNK + t)[:, None] * stride_bt + (h // (H // GROUPS)) * STATE + n[None, :]
    at = (chunk * H + h) * CHUNK
    last = tl.load(DA + at + CHUNK - 1)
    acc = tl.zeros((BLOCK_P, BLOCK_N), dtype=tl.float32)
    for k in range(0, CHUNK, BLOCK_T):
        x = tl.load(x_ptrs)
        b = tl.load(b_ptrs).to(tl.float32)
        da = tl.load(DA + at + k + t)
        dt = tl.load(DT + at + k + t)
        b = b * (tl.exp(last - da) * dt)[:, None]
        acc += tl.dot(x, b.to(x.dtype))
        x_ptrs += BLOCK_T * stride_xt
        b_ptrs += BLOCK_T * stride_bt
    s_ptrs = States + (chunk * H + h) * HEAD * STATE + p[:, None] * STATE + n[None, :]
    tl.store(s_ptrs, acc)


T, H, HEAD, STATE, CHUNK = 512, 2, 64, 128, 256
N = T // CHUNK
for BP, BN in ((64, 64), (64, 128)):
    x = torch.randn((T, H, HEAD), device='cuda', dtype=torch.float16)
    b = torch.randn((T, 1, STATE), device='cuda', dtype=torch.float16)
    dt = torch.rand((N, H, CHUNK), device='cuda')
    da = torch.cumsum(-torch.rand((N, H, CHUNK), device='cuda') * 0.01, dim=2)
    states = torch.empty((N, H, HEAD, STATE), device='cuda')
    ssd_chunk_state[((HEAD // BP) * (STATE // BN), N, H)](x, b, dt, da, states, H * HEAD, STATE, H=H, HEAD=HEAD, STATE=STATE,
                                                          CHUNK=CHUNK, GROUPS=1, BLOCK_P=BP, BLOCK_N=BN, BLOCK_T=64, num_warps=4,
                                                          num_stages=3)
    for n in range(N):
        for h in range(H):
            rows = slice(n * CHUNK, (n + 1) * CHUNK)
            scale = torch.exp(da[n, h, CHUNK - 1] - da[n, h]) * dt[n, h]
            scaled = (b[rows, 0].float() * scale[:, None]).to(torch.float16).float()
            torch.testing.assert_close(states[n, h], torch.matmul(x[rows, h].float().T, scaled), rtol=1e-2, atol=1e-2)
