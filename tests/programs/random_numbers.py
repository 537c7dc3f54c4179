# runs: interpreter emulator cuda triton triton-interpret
# Tests Philox bit by bit: the language's test vectors for seeds of every sign and width, 64-bit offsets, and fewer rounds.
import torch
import triton
import triton.language as tl


@triton.jit
def words(out, seed, base, N: tl.constexpr, WIDE: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, N)
    offset = i
    if WIDE:
        offset = i.to(tl.int64) + base
    a, b, c, d = tl.randint4x(seed, offset, ROUNDS)
    tl.store(out + i, a.to(tl.int32, bitcast=True))
    tl.store(out + N + i, b.to(tl.int32, bitcast=True))
    tl.store(out + 2 * N + i, c.to(tl.int32, bitcast=True))
    tl.store(out + 3 * N + i, d.to(tl.int32, bitcast=True))


@triton.jit
def floats(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(seed, i))
    tl.store(out + N + i, tl.randn(seed, i))


def found(seed, base=0, wide=False, rounds=10):
    out = torch.zeros(16, dtype=torch.int32, device="cuda")
    words[(1,)](out, seed, base, N=4, WIDE=wide, ROUNDS=rounds)
    return [x & 0xFFFFFFFF for x in out.tolist()]


assert found(0) == [
    0x6627E8D5, 0xF8E4CCA4, 0x04FAA329, 0xC990EF29,
    0xE169C58D, 0x5CB200DB, 0x51C732A6, 0x6A4474A6,
    0xBC57AC4C, 0xB1A574EB, 0x241513AD, 0x9AC9134F,
    0x9B00DBD8, 0x097EFF67, 0x459135E4, 0x6D413E04,
]
assert found(42)[:4] == [0x9CEAF053, 0xFCDB2127, 0xD36C0225, 0xBAC70475]
assert found(-1)[:4] == [0x72A47709, 0x19FED511, 0x17625282, 0x8E8FD014]
assert found(2**40 + 3)[:4] == [0x55D6FAB1, 0x23D24D0E, 0x0209299D, 0x702AA56C]
assert found(0, 2**33, True)[:4] == [0x58FE6CD3, 0xC5723FD1, 0x248DA2BC, 0xD2A419C3]
assert found(0, rounds=7)[:4] == [0x5F6FB709, 0x983A586E, 0x3E272524, 0x5F3486FA]

out = torch.zeros(8, device="cuda")
floats[(1,)](out, 0, N=4)
uniform = torch.tensor([0.798092902, 0.0555175915, 0.0388988405, 0.425264418], device="cuda")
normal = torch.tensor([0.0465515, -0.3883614, -1.637952, 0.6315315], device="cuda")
torch.testing.assert_close(out[:4], uniform, rtol=1e-7, atol=1e-8)
torch.testing.assert_close(out[4:], normal, rtol=1e-5, atol=1e-6)
print("ok")

# expect:
# ok
