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


# -- sorting: bitonic networks along the last of the dimensions, all rows as one --
import triton
import triton.language as tl


# Pairs whose indices differ in bit j change places where they are out of order: descending where bit i is set or, where i is
# None, everywhere or nowhere. An element's partner is what both have, less its own: exclusive or is plus and minus.
@triton.jit
def exchange(x, j, i, descending):
    shape: tl.constexpr = (x.numel >> (j + 1), 2, 1 << j)
    at = tl.arange(0, x.numel)
    if i is None:
        turned = ((at >> j) & 1) != descending
    else:
        turned = ((at >> j) & 1) != ((at >> i) & 1)
    if x.dtype.is_floating():
        bits = x.to(tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True)
    else:
        bits = x
    pairs = tl.reshape(bits, shape)
    partner = tl.reshape(pairs ^ tl.xor_sum(pairs, 1, keep_dims=True), x.shape).to(x.dtype, bitcast=True)
    return tl.where(tl.where(turned, x < partner, x > partner), partner, x)


# Bitonic blocks of 2^(i+1) become sorted ones.
@triton.jit
def merge(x, i, alternate, descending):
    for j in tl.static_range(i, -1, -1):
        x = exchange(x, j, i + 1 if alternate else None, descending)
    return x


# Of two sorted blocks side by side, one ascending and one descending, the better ones of each pair are the best, and bitonic.
@triton.jit
def halve(x, log_k, descending):
    half: tl.constexpr = x.numel >> 1
    x = tl.reshape(x, (half >> log_k, 2, 1 << log_k))
    return tl.reshape(tl.max(x, 1) if descending else tl.min(x, 1), (half,))


# The first 2^log_k of the 2^log_n elements of each row, sorted.
@triton.jit
def sort(x, log_n, log_k, descending):
    rows: tl.constexpr = x.shape[:-1]
    x = tl.reshape(x, (x.numel,))
    for i in tl.static_range(log_k):
        x = merge(x, i, i + 1 < log_n, descending)
    for i in tl.static_range(log_n - log_k):
        x = merge(halve(x, log_k, descending), log_k - 1, i + 1 < log_n - log_k, descending)
    return tl.reshape(x, rows + (1 << log_k,))


@triton.jit
def bitonic_merge(x, log_n, log_k, descending):
    return tl.reshape(merge(tl.reshape(x, (x.numel,)), log_n - 1, False, descending), x.shape)


# -- sine, cosine and error function of f64 --
import triton
import triton.language as tl


# c[0] x^(n-1) + ... + c[n-1]
@triton.jit
def polynomial(x, c):
    y = x * c[0] + c[1]
    for i in tl.static_range(2, len(c)):
        y = y * x + c[i]
    return y


# The first n items of w, or those that follow `by` items later where i has that bit.
@triton.jit
def later(w, i, by, n):
    chosen = ()
    for k in tl.static_range(n):
        chosen = chosen + (tl.where((i & by) != 0, w[k + by], w[k]),)
    return chosen + w[n:]


# The bits of 2/pi that, times the 53-bit integer m of |x| = m 2^e, give |x| / (pi/2) modulo 4 to 190 bits: the quarter, and
# what is over it, from -1/2 to 1/2 of one.
@triton.jit
def far_quarter(x):
    bits = x.to(tl.uint64, bitcast=True)
    m = (bits & 0xFFFFFFFFFFFFF) | 0x10000000000000
    at = ((bits >> 52) & 0x7FF) - 1013
    words: tl.constexpr = (
        0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C,
        0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F,
        0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08,
        0x56033046FC7B6BAB,
    )
    w = [tl.full(x.shape, word, tl.uint64) for word in words]
    i = at >> 6
    w = later(later(later(later(later(w, i, 16, 4), i, 8, 11), i, 4, 7), i, 2, 5), i, 1, 4)
    at &= 63
    low = m * ((w[2] << at) | ((w[3] >> 1) >> (63 - at)))
    w1 = (w[1] << at) | ((w[2] >> 1) >> (63 - at))
    carry = tl.umulhi(m, (w[2] << at) | ((w[3] >> 1) >> (63 - at)))
    middle = m * w1 + carry
    high = m * ((w[0] << at) | ((w[1] >> 1) >> (63 - at))) + tl.umulhi(m, w1) + (middle < carry).to(tl.uint64)
    q = ((high + 0x2000000000000000) >> 62).to(tl.int32)
    over = ((high << 2) | (middle >> 62)).to(tl.int64, bitcast=True)
    flip = over >> 63
    over ^= flip
    near = over.to(tl.float64)
    rest = (over - near.to(tl.int64)).to(tl.float64)
    rest += (((middle << 2) | (low >> 62)) ^ flip.to(tl.uint64)).to(tl.float64) * 5.421010862427522e-20
    r = near * 8.515303950216386e-20 + (near * 3.319411800407449e-36 + rest * 8.515303950216386e-20)
    r = tl.where(tl.abs(x) < float("inf"), r, float("nan"))
    return tl.where(x < 0, -q, q), tl.where((x < 0) != (flip < 0), -r, r)


# x = q pi/2 + r with |r| at most pi/4. A block in which an element is large pays for it.
@triton.jit
def quarter(x):
    k = (x * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0
    q = k.to(tl.int32)
    r = tl.fma(-k, tl.full(x.shape, 1.5707963267948966, x.dtype), x)
    r = tl.fma(-k, tl.full(x.shape, 6.123233995736766e-17, x.dtype), r)
    r = tl.fma(-k, tl.full(x.shape, -1.4973849048591698e-33, x.dtype), r)
    near = tl.abs(x) < 1073741824.0
    if len(x.shape) == 0:
        is_far = near == 0
    else:
        is_far = tl.min(near.to(tl.int32)) == 0
    if is_far:
        q_far, r_far = far_quarter(x)
        q = tl.where(near, q, q_far)
        r = tl.where(near, r, r_far)
    return q, r


@triton.jit
def sine(x, more):
    q, r = quarter(x)
    q += more
    z = r * r
    sines: tl.constexpr = (1.5917988979397435e-10, -2.5051129896450185e-08, 2.7557316093198404e-06, -0.00019841269836740532,
                       0.008333333333330936, -0.16666666666666666)
    s = r * z * polynomial(z, sines) + r
    cosines: tl.constexpr = (-1.138254464534925e-11, 2.087614504941318e-09, -2.755731726587808e-07, 2.48015872987544e-05,
                       -0.0013888888888887389, 0.041666666666666664)
    y = tl.where((q & 1) == 0, s, cosine_of(z, polynomial(z, cosines)))
    return tl.where((q & 2) == 0, y, -y)


# 1 - z/2 + z^2 p, with what the rounding of 1 - z/2 lost.
@triton.jit
def cosine_of(z, p):
    h = 0.5 * z
    w = 1.0 - h
    return w + (((1.0 - w) - h) + z * z * p)


@triton.jit
def sin_f64(x):
    return tl.where(x == 0.0, x, sine(x, 0))


@triton.jit
def cos_f64(x):
    return sine(x, 1)


# erfc(x) / exp(-x^2) of x from 0 on: (1 + 2 x) of that as a polynomial in (x - 3) / (x + 3).
@triton.jit
def erfcx_f64(x):
    c: tl.constexpr = (1.5388910988199787e-09, -5.179049700804952e-08, 2.1976845762932026e-07, -1.3933571030422475e-07, -7.289290280206629e-07,
                       4.1803848900447067e-07, 3.506574001550754e-06, -7.689716956755944e-07, -2.010207818241696e-05, 4.959861428496245e-06,
                       0.0001250979543491315, -0.00010516139184196327, -0.0007798319227725102, 0.0018886905008332977, 0.0025293917794842165,
                       -0.023770514925815424, 0.068308027345824, -0.1192736634151191, 0.12964515870272067, -0.04756229435345284,
                       -0.13562110612458092, 1.2530080582697296)
    return polynomial((x - 3.0) / (x + 3.0), c) / (1.0 + 2.0 * x)


# Below 1 odd powers of x; above, 1 less erfc, which is nothing from 6 on.
@triton.jit
def erf_f64(x):
    c: tl.constexpr = (-7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
                       -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225,
                       -0.02686617064323777, 0.11283791670945006, -0.37612638903183543, 0.12837916709551256)
    a = tl.minimum(tl.abs(x), 6.0)
    far = 1.0 - tl.exp(-a * a) * erfcx_f64(a)
    return tl.where(tl.abs(x) >= 1.0, tl.where(x < 0.0, -far, far), x + x * polynomial(x * x, c))


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
