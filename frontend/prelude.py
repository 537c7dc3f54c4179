# The part of the library that is written in the language itself. A row of builtins.h names each function; ops of its body
# stand at the place of the user's call. Each section is a module, read when one of its functions is first needed.

# -- combine functions of reductions and scans --
import triton
import triton.language as tl


@triton.jit
def _sum_combine(a, b):
    return a + b


@triton.jit
def _prod_combine(a, b):
    return a * b


@triton.jit
def _max_combine(a, b):
    return tl.maximum(a, b)


@triton.jit
def _min_combine(a, b):
    return tl.minimum(a, b)


@triton.jit
def _xor_combine(a, b):
    return a ^ b


@triton.jit
def _or_combine(a, b):
    return a | b


# Of equal values the one with the smaller index wins.
@triton.jit
def _argmax_combine_left(v1, i1, v2, i2):
    first = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


@triton.jit
def _argmin_combine_left(v1, i1, v2, i2):
    first = (v1 < v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


@triton.jit
def _argmax_combine_fast(v1, i1, v2, i2):
    first = v1 > v2
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


@triton.jit
def _argmin_combine_fast(v1, i1, v2, i2):
    first = v1 < v2
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


# -- elementwise --
import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def softmax(x, dim, keep_dims, ieee_rounding):
    if dim is None:
        axis: tl.constexpr = 0
    else:
        axis: tl.constexpr = dim
    z = x - tl.max(x, axis, keep_dims=keep_dims)
    num = tl.exp(z)
    den = tl.sum(num, axis, keep_dims=keep_dims)
    return tl.fdiv(num, den, ieee_rounding)


# Indices of a size_i by size_j matrix in row-major order become those of groups of size_g rows, column by column.
@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    ij = i * size_j + j
    size_gj = size_g * size_j
    group = ij // size_gj
    off_i = group * size_g
    rows = tl.minimum(size_i - off_i, size_g)
    ij = ij % size_gj
    return off_i + ij % rows, ij // rows


# -- tensor descriptors of the host --
class TensorDescriptor:
    _is_tensor_descriptor = True

    def __init__(self, base, shape, strides, block_shape, padding="zero", round_f32_to_tf32=False):
        rank = len(shape)
        assert 1 <= rank <= 5, "a tensor descriptor has 1 to 5 dimensions"
        assert len(strides) == rank, f"expected {rank} strides, found {len(strides)}"
        assert len(block_shape) == rank, f"expected {rank} sizes in block_shape, found {len(block_shape)}"
        assert base.data_ptr() % 16 == 0, "the tensor must start at a multiple of 16 bytes"
        for stride in strides[:-1]:
            assert stride * base.element_size() % 16 == 0, "all strides but the last must be multiples of 16 bytes"
        assert strides[-1] == 1, f"the last stride must be 1, found {strides[-1]}"
        assert all(size > 0 for size in shape), "all sizes must be positive"
        assert padding == "zero" or padding == "nan", f"padding must be 'zero' or 'nan', found {padding!r}"
        if round_f32_to_tf32:
            raise NotImplementedError("round_f32_to_tf32 is not supported by this version of neso")
        self.base, self.shape, self.strides, self.block_shape = base, shape, strides, block_shape
        self.padding, self.round_f32_to_tf32 = padding, round_f32_to_tf32

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        return TensorDescriptor(tensor, tensor.shape, tensor.stride(), block_shape, padding, round_f32_to_tf32)


# -- random numbers: Philox-4x32, and 4x64 for 64-bit counters --
import triton
import triton.language as tl


@triton.jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds):
    if c0.dtype == tl.uint32:
        round_a: tl.constexpr = 0xD2511F53
        round_b: tl.constexpr = 0xCD9E8D57
        key_a: tl.constexpr = 0x9E3779B9
        key_b: tl.constexpr = 0xBB67AE85
    else:
        round_a: tl.constexpr = 0xD2E7470EE14C6C93
        round_b: tl.constexpr = 0xCA5A826395121157
        key_a: tl.constexpr = 0x9E3779B97F4A7C15
        key_b: tl.constexpr = 0xBB67AE8584CAA73B
    for _ in tl.static_range(n_rounds):
        a, b = c0, c2
        c0 = tl.umulhi(b, round_b) ^ c1 ^ k0
        c2 = tl.umulhi(a, round_a) ^ c3 ^ k1
        c1 = b * round_b
        c3 = a * round_a
        k0 = k0 + key_a
        k1 = k1 + key_b
    return c0, c1, c2, c3


@triton.jit
def philox(seed, c0, c1, c2, c3, n_rounds):
    seed = tl.cast(seed, tl.uint64)
    c0 = tl.to_tensor(c0)
    if c0.dtype.primitive_bitwidth == 32:
        word: tl.constexpr = tl.uint32
        k1 = (seed >> 32).to(tl.uint32)
    else:
        word: tl.constexpr = tl.uint64
        k1 = tl.full((), 0, tl.uint64)
    c0, c1, c2, c3 = tl.cast(c0, word), tl.cast(c1, word), tl.cast(c2, word), tl.cast(c3, word)
    return philox_impl(c0, c1, c2, c3, seed.to(word), k1, n_rounds)


@triton.jit
def randint4x(seed, offset, n_rounds):
    low = offset.to(tl.uint32)
    zero = tl.zeros_like(low)
    if offset.dtype.primitive_bitwidth == 64:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@triton.jit
def randint(seed, offset, n_rounds):
    r0, r1, r2, r3 = randint4x(seed, offset, n_rounds)
    return r0


@triton.jit
def uint_to_uniform_float(x):
    if x.dtype.primitive_bitwidth == 32:
        x = x.to(tl.int32, bitcast=True)
        scale: tl.constexpr = 4.6566127342e-10
    else:
        x = x.to(tl.int64, bitcast=True)
        scale: tl.constexpr = 1.0842020432385337e-19
    x = tl.where(x < 0, -x - 1, x)
    return x.to(tl.float32) * scale


@triton.jit
def pair_uniform_to_normal(u1, u2):
    u1 = tl.maximum(1.0e-7, u1)
    th = 6.283185307179586 * u2
    r = tl.sqrt(-2.0 * tl.log(u1))
    return r * tl.cos(th), r * tl.sin(th)


@triton.jit
def rand(seed, offset, n_rounds):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@triton.jit
def rand4x(seed, offset, n_rounds):
    r0, r1, r2, r3 = randint4x(seed, offset, n_rounds)
    return uint_to_uniform_float(r0), uint_to_uniform_float(r1), uint_to_uniform_float(r2), uint_to_uniform_float(r3)


@triton.jit
def randn(seed, offset, n_rounds):
    r0, r1, r2, r3 = randint4x(seed, offset, n_rounds)
    n0, n1 = pair_uniform_to_normal(uint_to_uniform_float(r0), uint_to_uniform_float(r1))
    return n0


@triton.jit
def randn4x(seed, offset, n_rounds):
    u0, u1, u2, u3 = rand4x(seed, offset, n_rounds)
    n0, n1 = pair_uniform_to_normal(u0, u1)
    n2, n3 = pair_uniform_to_normal(u2, u3)
    return n0, n1, n2, n3


# -- libdevice: of f32 and f64 --
import triton
import triton.language as tl


@triton.jit
def libdevice_copysign(x, y):
    if x.dtype == tl.float32:
        bits = (x.to(tl.int32, bitcast=True) & 0x7FFFFFFF) | (y.to(tl.int32, bitcast=True) & -0x80000000)
        return bits.to(tl.float32, bitcast=True)
    else:
        low = x.to(tl.int64, bitcast=True) & 0x7FFFFFFFFFFFFFFF
        sign = y.to(tl.int64, bitcast=True) & -0x8000000000000000
        return (low | sign).to(tl.float64, bitcast=True)


@triton.jit
def libdevice_trunc(x):
    return tl.where(x < 0, tl.ceil(x), tl.floor(x))


# Adding and subtracting 2 to the number of mantissa bits rounds to an integer, ties to even.
@triton.jit
def libdevice_rint(x):
    if x.dtype == tl.float32:
        big: tl.constexpr = 8388608.0
    else:
        big: tl.constexpr = 4503599627370496.0
    a = tl.abs(x)
    return libdevice_copysign(tl.where(a < big, (a + big) - big, a), x)


@triton.jit
def libdevice_nearbyint(x):
    return libdevice_rint(x)


@triton.jit
def libdevice_round(x):
    a = tl.abs(x)
    low = tl.floor(a)
    return libdevice_copysign(tl.where(a - low >= 0.5, low + 1, low), x)


@triton.jit
def libdevice_llrint(x):
    return libdevice_rint(x).to(tl.int64)


@triton.jit
def libdevice_llround(x):
    return libdevice_round(x).to(tl.int64)


@triton.jit
def libdevice_exp10(x):
    return tl.exp2(x * 3.321928094887362)


@triton.jit
def libdevice_fast_exp10f(x):
    return libdevice_exp10(x)


@triton.jit
def libdevice_log10(x):
    return tl.log2(x) * 0.3010299956639812


@triton.jit
def libdevice_fast_log10f(x):
    return libdevice_log10(x)


# Near 0 the Taylor series, which exp(x) - 1 would lose to cancellation.
@triton.jit
def libdevice_expm1(x):
    p = x * 0.0 + 1.0 / 18
    for i in tl.static_range(17, 1, -1):
        p = (1.0 + x * p) * (1.0 / i)
    return tl.where(tl.abs(x) < 0.5, x * (1.0 + x * p), tl.exp(x) - 1.0)


# log(u) / (u - 1) is right for the u that 1 + x was rounded to.
@triton.jit
def libdevice_log1p(x):
    u = 1.0 + x
    y = tl.log(u) * (x / (u - 1.0))
    return tl.where(u == 1.0, x, tl.where(u == float("inf"), x, y))


@triton.jit
def libdevice_tan(x):
    return tl.sin(x) / tl.cos(x)


@triton.jit
def libdevice_fast_tanf(x):
    return tl.sin(x) / tl.cos(x)


@triton.jit
def libdevice_sinh(x):
    t = libdevice_expm1(tl.abs(x))
    y = tl.where(t == float("inf"), t, 0.5 * (t + t / (t + 1.0)))
    return libdevice_copysign(y, x)


@triton.jit
def libdevice_cosh(x):
    t = tl.exp(tl.abs(x))
    return 0.5 * t + 0.5 / t


@triton.jit
def libdevice_tanh(x):
    t = libdevice_expm1(2.0 * tl.minimum(tl.abs(x), 20.0, propagate_nan=tl.PropagateNan.ALL))
    return libdevice_copysign(t / (t + 2.0), x)


@triton.jit
def libdevice_asinh(x):
    a = tl.abs(x)
    y = libdevice_log1p(a + a * (a / (1.0 + tl.sqrt(a * a + 1.0))))
    return libdevice_copysign(tl.where(a > 1e15, tl.log(a) + 0.6931471805599453, y), x)


@triton.jit
def libdevice_acosh(x):
    t = x - 1.0
    y = libdevice_log1p(t + tl.sqrt(t * (t + 2.0)))
    return tl.where(x > 1e15, tl.log(x) + 0.6931471805599453, y)


@triton.jit
def libdevice_atanh(x):
    a = tl.abs(x)
    return libdevice_copysign(0.5 * libdevice_log1p(2.0 * a / (1.0 - a)), x)


@triton.jit
def libdevice_isnan(x):
    return x != x


@triton.jit
def libdevice_isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def libdevice_finitef(x):
    return tl.abs(x) < float("inf")


@triton.jit
def libdevice_isfinited(x):
    return tl.abs(x) < float("inf")


@triton.jit
def libdevice_signbit(x):
    if x.dtype == tl.float32:
        return (x.to(tl.int32, bitcast=True) < 0).to(tl.int32)
    else:
        return (x.to(tl.int64, bitcast=True) < 0).to(tl.int32)


@triton.jit
def libdevice_saturatef(x):
    return tl.minimum(tl.maximum(x, 0.0), 1.0)


@triton.jit
def libdevice_fdim(x, y):
    return tl.where(x <= y, 0.0, x - y)


@triton.jit
def libdevice_hypot(x, y):
    a, b = tl.abs(x), tl.abs(y)
    big, small = tl.maximum(a, b), tl.minimum(a, b)
    r = small / tl.where(big == 0.0, 1.0, big)
    return tl.where(big == float("inf"), big, big * tl.sqrt(1.0 + r * r))


# The sign follows odd integer exponents of negative bases; other exponents of these have no result.
@triton.jit
def libdevice_pow(x, y):
    y = y.to(x.dtype)
    a = tl.abs(x)
    r = tl.exp2(y * tl.log2(a))
    is_whole = tl.floor(y) == y
    is_odd = is_whole & (tl.floor(y * 0.5) * 2.0 != y)
    r = tl.where((x < 0.0) & is_odd, -r, r)
    r = tl.where((x < 0.0) & (is_whole == 0) & (a < float("inf")), float("nan"), r)
    return tl.where((y == 0.0) | (x == 1.0), 1.0, r)


@triton.jit
def libdevice_fast_powf(x, y):
    return tl.exp2(y * tl.log2(x))
