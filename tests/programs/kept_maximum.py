# runs: interpreter emulator cuda (not triton: it has no launch option fp_reassoc)
# The launch option fp_reassoc must change only rounding. Tests attention and log-sum-exp of rows, with scores that are ordinary,
# peaked, NaN or inf, that grow past 2^127 from block to block, that decrease, or that are masked for whole blocks and whole rows.
import torch
import triton
import triton.language as tl

device = 'cuda'
HEADS, QUERIES, KEYS = 1, 128, 320


@triton.jit
def attention(Q, K, V, bias, O, L, scale, keys, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, FORM: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * D + d[None, :])
    most = tl.full([BM], float('-inf'), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, keys, BN):
        k = tl.load(K + (start + n)[None, :] * D + d[:, None])
        v = tl.load(V + (start + n)[:, None] * D + d[None, :])
        s = tl.dot(q, k)
        s += tl.load(bias + start + n)[None, :]
        if FORM == 0:  # scales after the maximum; exponentials are powers of two
            now = tl.maximum(most, tl.max(s, 1) * scale)
            p = tl.exp2(s * scale - now[:, None])
            old = tl.exp2(most - now)
        elif FORM == 1:  # takes the maximum of unscaled scores, and scales the exponents
            now = tl.maximum(most, tl.max(s, 1))
            p = tl.exp2(s * scale - (now * scale)[:, None])
            old = tl.exp2((most - now) * scale)
        else:  # exponentials are powers of e; rows above the diagonal are masked
            s = tl.where((m[:, None] * 2 >= (start + n)[None, :]) & (m[:, None] != 3), s * scale, float('-inf'))
            now = tl.maximum(most, tl.max(s, 1))
            p = tl.exp(s - now[:, None])
            old = tl.exp(most - now)
        total = total * old + tl.sum(p, 1)
        acc = acc * old[:, None]
        acc = tl.dot(p.to(q.dtype), v, acc)
        most = now
    tl.store(O + m[:, None] * D + d[None, :], acc / total[:, None])
    tl.store(L + m, tl.log(total) + most if FORM == 2 else tl.log2(total) + (most * scale if FORM == 1 else most))


@triton.jit
def log_sum_exp(x, out, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    most = tl.full([ROWS], float('-inf'), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    for start in range(0, columns, BLOCK):
        v = tl.load(x + r[:, None] * columns + (start + c)[None, :])
        now = tl.maximum(most, tl.max(v, 1))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(v - now[:, None]), 1)
        most = now
    tl.store(out + r, most + tl.log(total))


def biases():
    block = (torch.arange(0, KEYS, device=device) // 64).to(torch.float32)
    key = torch.arange(0, KEYS, device=device)
    none = torch.zeros(KEYS, device=device)
    return {
        'ordinary': none,
        'peaked': torch.where(key % 7 == 3, none + 60.0, none),
        'growing': block * 2000.0,
        'growing slowly': block * 30.0,
        'falling': block * -2000.0,
        'up and down': torch.where(block % 2 == 1, none + 900.0, none - 900.0),
        'first block masked': torch.where(key < 64, none - float('inf'), none),
        'masked inside': torch.where((key >= 64) & (key < 192), none - float('inf'), none),
        'last block masked': torch.where(key >= 256, none - float('inf'), none),
        'all masked': none - float('inf'),
        'nan': torch.where(key == 100, none + float('nan'), none),
        'inf': torch.where(key == 200, none + float('inf'), none),
    }


def check(name, plain, kept, bound):
    a, b = plain.to(torch.float32), kept.to(torch.float32)
    assert bool(((a != a) == (b != b)).all()), f'{name}: NaN in other places'
    equal = (a == b) | (a != a)
    far = torch.where(equal, torch.zeros_like(a), (a - b).abs() / (1.0 + a.abs())).max().item()
    assert far <= bound, f'{name}: {far}'


def run_attention(bias, form, dtype, D, BM, BN, warps, stages, **options):
    torch.manual_seed(1)
    make = lambda n: torch.randn(n, D, device=device).to(dtype)  # noqa: E731
    q, k, v = make(QUERIES), make(KEYS), make(KEYS)
    o, lse = torch.full((QUERIES, D), 7.0, device=device), torch.full((QUERIES,), 7.0, device=device)
    attention[(QUERIES // BM,)](q, k, v, bias, o, lse, 0.2, KEYS, BM, BN, D, form, num_warps=warps, num_stages=stages, **options)
    return o, lse


def main():
    cases = [(torch.float16, 64, 128, 64, 8, 3), (torch.float16, 64, 64, 32, 4, 2), (torch.bfloat16, 32, 64, 64, 4, 2),
             (torch.float16, 64, 16, 64, 4, 2)]
    for name, bias in biases().items():
        for form in range(3):
            for dtype, *tile in cases[:1] if form else cases:
                plain = run_attention(bias, form, dtype, *tile)
                kept = run_attention(bias, form, dtype, *tile, fp_reassoc=True)
                bound = 2e-2 if dtype == torch.bfloat16 else 4e-3
                check(f'{name}, form {form}, {dtype} {tile}', plain[0], kept[0], bound)
                check(f'{name}, form {form}, {dtype} {tile}, logarithm', plain[1], kept[1], 1e-5)
        x = torch.randn(16, KEYS, device=device) + bias[None, :]
        sums = []
        for options in ({}, {'fp_reassoc': True}):
            out = torch.full((16,), 7.0, device=device)
            log_sum_exp[(2,)](x, out, KEYS, 8, 64, num_warps=2, **options)
            sums.append(out)
        check(f'{name}, log-sum-exp', sums[0], sums[1], 1e-6)
    print('ok')


main()
