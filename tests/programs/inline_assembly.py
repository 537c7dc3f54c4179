# runs: emulator cuda triton (not interpreter, not triton-interpret: they cannot run PTX)
# Tests inline assembly: one and several results, packed bytes and halves, scopes that declare registers, predicates, no
# operands, and blanks around constraints (none before "=", where Triton mistakes an output for an input and aborts). Constants
# with the constraint n are numbers in the text, and with r registers: sub.f16x2 takes no number.
import torch
import triton
import triton.language as tl

SOFTPLUS: tl.constexpr = tl.constexpr("""{
    .reg .pred p;
    setp.gt.f32 p, $1, 20.;
    @p mov.f32 $0, $1;
    @!p mul.f32 $0, $1, 1.4426950408889634;
    @!p ex2.approx.ftz.f32 $0, $0;
    @!p add.f32 $0, $0, 1.0;
    @!p lg2.approx.ftz.f32 $0, $0;
    @!p mul.f32 $0, $0, 0.6931471805599453;
}""")


@triton.jit
def softplus(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise(SOFTPLUS, "=f,f", [v], dtype=tl.float32, is_pure=True, pack=1))


@triton.jit
def both(x, y, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    sums, lows = tl.inline_asm_elementwise(
        "add.s32 $0, $2, $3;\nmin.s32 $1, $2, $3;",
        "=r,=r,r,r",
        [tl.load(x + at), tl.load(y + tl.arange(0, N))[None, :]],
        dtype=(tl.int32, tl.int32),
        is_pure=True,
        pack=1,
    )
    tl.store(out + at, sums)
    tl.store(out + M * N + at, lows)


@triton.jit
def packed(bytes_, halves, out, out_halves, N: tl.constexpr):
    i = tl.arange(0, N)
    b = tl.load(bytes_ + i)
    tl.store(out + i, tl.inline_asm_elementwise("xor.b32 $0, $1, 0x0f0f0f0f;", "=r,r", [b], dtype=tl.int8, is_pure=True, pack=4))
    h = tl.load(halves + i)
    low = tl.inline_asm_elementwise("and.b32 $0, $1, 0x7fff7fff;", "=r,r", [h], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(out_halves + i, low)
    wide = tl.inline_asm_elementwise("shl.b64 $0, $1, 33;", "=l,l", [b.to(tl.int64)], dtype=tl.int64, is_pure=True, pack=1)
    tl.store(out + N + i, (wide >> 33).to(tl.int8))


@triton.jit
def constants(x, high, low, N: tl.constexpr):
    i = tl.arange(0, N)
    MASK: tl.constexpr = 0x000f000f
    MAGIC: tl.constexpr = 0x64006400  # 1024 and 1024 as float16; the sum of 1024 and a number below 1024 has the number as its last bits
    a, b = tl.inline_asm_elementwise("""{
        .reg .b32 tmp;
        and.b32 tmp, $2, $3;
        or.b32 tmp, tmp, $4;
        sub.f16x2 tmp, tmp, $5;
        mov.b32 {$0, $1}, tmp;
    }""", "=h,=h,r,n,n,r", args=[tl.load(x + i), MASK, MAGIC, MAGIC], dtype=(tl.float16, tl.float16), is_pure=True, pack=1)
    tl.store(low + i, a)
    tl.store(high + i, b)


@triton.jit
def nothing(out):
    tl.store(out, tl.inline_asm_elementwise("mov.b32 $0, 42;", "=r", [], dtype=tl.int32, is_pure=False, pack=1))


@triton.jit
def twice(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r, r , r ", [v, v], dtype=tl.int32, is_pure=True, pack=1))


@triton.jit
def sums_in_words(X, Y, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(X + n[:, None] + m[None, :] * N).trans()
    y = tl.inline_asm_elementwise("mul.lo.u32 $0, $1, 0b1000000010000000100000001;", "=r,r", [x], dtype=tl.uint8, is_pure=True, pack=4)
    z = tl.join(y, y).reshape([M, 2 * N]).trans()
    tl.store(Y + tl.arange(0, 2 * N)[:, None] * M + m[None, :], z)


N = 256
x = torch.randn(N, device="cuda") * 20
out = torch.empty_like(x)
softplus[(1,)](x, out, N=N)
want = torch.where(x > 20, x, torch.log(1 + torch.exp(x)))
torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-5)

a = torch.randint(-1000, 1000, (16, 32), dtype=torch.int32, device="cuda")
b = torch.randint(-1000, 1000, (32,), dtype=torch.int32, device="cuda")
pair = torch.empty(2, 16, 32, dtype=torch.int32, device="cuda")
both[(1,)](a, b, pair, M=16, N=32)
assert torch.equal(pair[0], a + b)
assert torch.equal(pair[1], torch.minimum(a, b.expand(16, 32)))

small = torch.randint(-128, 128, (N,), dtype=torch.int8, device="cuda")
half = torch.randn(N, device="cuda").to(torch.float16)
out_small, out_half = torch.empty(2, N, dtype=torch.int8, device="cuda"), torch.empty_like(half)
packed[(1,)](small, half, out_small, out_half, N=N)
assert out_small[0].tolist() == [v ^ 15 for v in small.tolist()]
assert torch.equal(out_small[1], small)
assert torch.equal(out_half, torch.abs(half))

word = torch.arange(N, dtype=torch.int32, device="cuda") * 65537
high, low = torch.empty(2, N, dtype=torch.float16, device="cuda")
constants[(1,)](word, high, low, N=N)
for i in (0, 3, 31):
    assert high[i].item() == low[i].item() == i % 16, i

one = torch.zeros(1, dtype=torch.int32, device="cuda")
nothing[(1,)](one)
assert one.item() == 42
row = torch.empty_like(b)
twice[(1,)](b, row, N=32)
assert torch.equal(row, b + b)

# words of four elements along the last dimension, however the tile is loaded and stored
x = torch.randint(0, 60, (32, 128), device="cuda").to(torch.uint8)
y = torch.zeros(256, 32, dtype=torch.uint8, device="cuda")
sums_in_words[(1,)](x, y, M=32, N=128)
want = torch.cumsum(x.to(torch.int32).reshape(32, 32, 4), 2).reshape(32, 128).to(torch.uint8)
for i in range(2):
    assert torch.equal(y.t().reshape(32, 128, 2)[:, :, i], want)
print("ok")

# expect:
# ok
