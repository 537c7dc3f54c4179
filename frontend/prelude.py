# SPDX-License-Identifier: MIT
# prelude.py: the functions of triton.language that are written in Triton's language itself. A row of builtins.h names each
# function. The ops of a function's body get the location of the user's call. Each section is a module, which is parsed when a
# kernel first needs it.

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


# The combine functions of tl.argmax and tl.argmin. They combine two (value, index) pairs. If the values are equal, the _left
# functions return the pair with the smaller index, and the _fast functions return either pair.
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


# Maps the position (i, j) in a matrix of size_i rows and size_j columns to a new position: the k-th position in row-major order
# to the k-th position in the order that traverses groups of size_g rows one after the other, and each group column by column.
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
# Implements triton.tools.tensor_descriptor.TensorDescriptor. block.c recognizes the class by _is_tensor_descriptor.
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
    seed = tl.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed must be an integer")
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
    x ^= x >> (x.dtype.primitive_bitwidth - 1)
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


# -- sorting: bitonic networks along the last dimension, all rows at once --
import triton
import triton.language as tl


# Converts the bits of floats to integers that compare in the same order as the floats, and also does the reverse conversion:
# if the sign bit is set, inverts all other bits. In this order, -0 < +0; a NaN is less than -inf or greater than +inf,
# depending on its sign.
@triton.jit
def order_of_bits(bits):
    sign: tl.constexpr = bits.dtype.primitive_bitwidth - 1
    return bits ^ ((bits >> sign) & ((1 << sign) - 1))


# Converts x to integers that compare in the same order as the elements of x. The integers have at least 32 bits, because the
# GPU compares 32-bit integers fastest. from_keys is the inverse function.
@triton.jit
def to_keys(x):
    if x.dtype.is_floating():
        x = order_of_bits(x.to(tl.core.get_int_dtype(x.dtype.primitive_bitwidth, True), bitcast=True))
    return x.to(tl.int32) if x.dtype.primitive_bitwidth < 32 else x


@triton.jit
def from_keys(keys, dtype: tl.constexpr):
    if dtype.is_floating():
        bits = keys.to(tl.core.get_int_dtype(dtype.primitive_bitwidth, True))
        return order_of_bits(bits).to(dtype, bitcast=True)
    else:
        return keys.to(dtype)


# Returns a block of n elements, of which element i is bit j of i. Builds the block by a broadcast of a dimension of size 2: if
# the layout maps bit j of the index to a bit of the register number, each register then holds a constant.
@triton.jit
def index_bit(n, j):
    bit = tl.arange(0, 2)[None, :, None]
    return tl.reshape(tl.broadcast_to(bit, (n >> (j + 1), 2, 1 << j)), (n,))


# Compares the two elements of each pair whose indices differ only in bit j, and swaps them if they are out of order. If i is
# None, `descending` is the order of all pairs; otherwise, a pair is in descending order if bit i of its indices is set. To
# compute the partner of an element, takes the exclusive or of the element and (x ^ partner), the exclusive or over the pair. A
# swap of equal integers has no effect, so the comparison x > partner serves both orders.
@triton.jit
def exchange(x, j, i, descending):
    shape: tl.constexpr = (x.numel >> (j + 1), 2, 1 << j)
    turned = index_bit(x.numel, j) != (descending if i is None else index_bit(x.numel, i))
    pairs = tl.reshape(x, shape)
    partner = tl.reshape(pairs ^ tl.xor_sum(pairs, 1, keep_dims=True), x.shape)
    return tl.where((x > partner) != turned, partner, x)


# Sorts blocks of 2^(i+1) elements, each of which is a bitonic sequence. If `alternate`, sorts blocks in ascending and
# descending order by turns; otherwise, sorts all blocks in the order that `descending` specifies.
@triton.jit
def merge(x, i, alternate, descending):
    for j in tl.static_range(i, -1, -1):
        x = exchange(x, j, i + 1 if alternate else None, descending)
    return x


# Reduces each pair of adjacent blocks of 2^log_k elements, one ascending and one descending, to one block. An element
# of the result is the greater (or smaller) of the two elements at its position. The result contains the 2^log_k
# greatest (or smallest) elements of both blocks, as a bitonic sequence.
@triton.jit
def halve(x, log_k, descending):
    half: tl.constexpr = x.numel >> 1
    x = tl.reshape(x, (half >> log_k, 2, 1 << log_k))
    return tl.reshape(tl.max(x, 1) if descending else tl.min(x, 1), (half,))


# Sorts each row of 2^log_n elements, and returns the first 2^log_k elements of each sorted row.
@triton.jit
def sort(x, log_n, log_k, descending):
    rows: tl.constexpr = x.shape[:-1]
    keys = to_keys(tl.reshape(x, (x.numel,)))
    for i in tl.static_range(log_k):
        keys = merge(keys, i, i + 1 < log_n, descending)
    for i in tl.static_range(log_n - log_k):
        keys = merge(halve(keys, log_k, descending), log_k - 1, i + 1 < log_n - log_k, descending)
    return tl.reshape(from_keys(keys, x.dtype), rows + (1 << log_k,))


@triton.jit
def bitonic_merge(x, log_n, log_k, descending):
    keys = to_keys(tl.reshape(x, (x.numel,)))
    return tl.reshape(from_keys(merge(keys, log_n - 1, False, descending), x.dtype), x.shape)


# -- sine, cosine and error function of f64 --
import triton
import triton.language as tl


# Returns the value of the polynomial c[0] x^(n-1) + ... + c[n-1].
@triton.jit
def polynomial(x, c):
    y = x * c[0] + c[1]
    for i in tl.static_range(2, len(c)):
        y = y * x + c[i]
    return y


# Returns the tuple w with its first n items shifted: for k < n, item k of the result is w[k + by] in the elements in which i
# has the bit `by`, and w[k] in the others.
@triton.jit
def shift_items(w, i, by, n):
    chosen = ()
    for k in tl.static_range(n):
        chosen = chosen + (tl.where((i & by) != 0, w[k + by], w[k]),)
    return chosen + w[n:]


# Computes the result of reduce_argument for a large x by the method of Payne and Hanek. |x| is m 2^e with a 53-bit integer m.
# The product of m and 192 bits of 2/pi, which e selects from `words`, gives |x| / (pi/2) modulo 4.
@triton.jit
def reduce_large_argument(x):
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
    w = shift_items(shift_items(shift_items(shift_items(shift_items(w, i, 16, 4), i, 8, 11), i, 4, 7), i, 2, 5), i, 1, 4)
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


# Returns q (modulo 4 if |x| >= 2^30) and r with x = q pi/2 + r and |r| <= pi/4. Executes the slow function
# reduce_large_argument only if the block contains an element with |x| >= 2^30.
@triton.jit
def reduce_argument(x):
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
        q_far, r_far = reduce_large_argument(x)
        q = tl.where(near, q, q_far)
        r = tl.where(near, r, r_far)
    return q, r


# Returns sin(x + more pi/2).
@triton.jit
def sine(x, more):
    q, r = reduce_argument(x)
    q += more
    z = r * r
    sines: tl.constexpr = (1.5917988979397435e-10, -2.5051129896450185e-08, 2.7557316093198404e-06, -0.00019841269836740532,
                       0.008333333333330936, -0.16666666666666666)
    s = r * z * polynomial(z, sines) + r
    cosines: tl.constexpr = (-1.138254464534925e-11, 2.087614504941318e-09, -2.755731726587808e-07, 2.48015872987544e-05,
                       -0.0013888888888887389, 0.041666666666666664)
    y = tl.where((q & 1) == 0, s, cosine_of(z, polynomial(z, cosines)))
    return tl.where((q & 2) == 0, y, -y)


# Returns 1 - z/2 + z^2 p, corrected by the rounding error of 1 - z/2. For z = r^2 and the caller's p, this is cos(r).
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


# Returns f = erfc(x) / exp(-x^2) for x >= 1/2. Approximates (1 + 2 x) f by a polynomial in (x - 3) / (x + 3).
@triton.jit
def erfcx_f64(x):
    c: tl.constexpr = (3.4821714559368368e-09, -2.36373378622686e-08, 1.8415624444881093e-08, 1.3374156697840068e-07, -1.2376649830177098e-07,
                       -6.551464769497394e-07, 3.524044805476245e-07, 3.4980106095777735e-06, -7.334368558575733e-07, -2.0110990693258778e-05,
                       4.951241317920586e-06, 0.00012510204862004745, -0.00010516036554829381, -0.0007798327143610477, 0.0018886904547060941,
                       0.00252939186040418, -0.02377051492728926, 0.068308027341482, -0.11927366341492748, 0.12964515870282672,
                       -0.04756229435345709, -0.1356211061245817, 1.2530080582697296)
    return polynomial((x - 3.0) / (x + 3.0), c) / (1.0 + 2.0 * x)


# Returns erf(x). For |x| < 1, computes a polynomial in odd powers of x; otherwise, computes 1 - erfc(|x|) with the sign of x.
# For |x| >= 6, |erf(x)| rounds to 1, so |x| is limited to 6.
@triton.jit
def erf_f64(x):
    c: tl.constexpr = (-7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
                       -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225,
                       -0.02686617064323777, 0.11283791670945006, -0.37612638903183543, 0.12837916709551256)
    a = tl.minimum(tl.abs(x), 6.0)
    far = 1.0 - tl.exp(-a * a) * erfcx_f64(a)
    return tl.where(tl.abs(x) >= 1.0, tl.where(x < 0.0, -far, far), x + x * polynomial(x * x, c))


# Returns exp(-x^2), corrected by the rounding error of x^2.
@triton.jit
def gauss(x):
    s = x * x
    return tl.exp(-s) * (1.0 - tl.fma(x, x, -s))


@triton.jit
def erfc_f64(x):
    a = tl.minimum(tl.abs(x), 30.0)
    far = gauss(a) * erfcx_f64(a)
    y = tl.where(tl.abs(x) < 0.5, 1.0 - erf_f64(x), tl.where(x < 0.0, 2.0 - far, far))
    return tl.where(x == x, y, x)


@triton.jit
def libdevice_erfc(x):
    return erfc_f64(x.to(tl.float64)).to(x.dtype)


@triton.jit
def libdevice_erfcx(x):
    w = x.to(tl.float64)
    s = w * w
    e = tl.exp(s) * (1.0 + tl.fma(w, w, -s))
    far = erfcx_f64(tl.minimum(tl.abs(w), 1e15))
    y = tl.where(w < 0.0, tl.where(w < -27.0, float("inf"), 2.0 * e - far), tl.where(w > 1e15, 0.5641895835477563 / w, far))
    return tl.where(tl.abs(w) < 0.5, e * (1.0 - erf_f64(w)), tl.where(w == w, y, w)).to(x.dtype)


# Returns erfc(-x / sqrt(2)) / 2. For arguments of erfc between 1 and 30, where a small relative error of the argument changes
# the result much, corrects the result for the rounding error of the argument.
@triton.jit
def libdevice_normcdf(x):
    w = -x.to(tl.float64)
    half: tl.constexpr = 0.7071067811865476
    u = w * half
    rest = tl.fma(w, tl.full(w.shape, half, tl.float64), -u) - w * 4.833646656726457e-17
    y = erfc_f64(u)
    return (0.5 * tl.where((u > 1.0) & (u < 30.0), y - 2.0 * u * rest * y, y)).to(x.dtype)


# Returns the y >= 0 with erf(y) = a and erfc(y) = c. Starts with an approximation whose relative error is at most 1/500, and
# improves it by three steps of Halley's method.
@triton.jit
def inverse_erf(a, c):
    w = tl.log(c) + tl.log(1.0 + a)
    t = 4.330746750799873 + 0.5 * w
    y = tl.sqrt(tl.sqrt(t * t - w * 6.802721088435375) - t)
    for _ in tl.static_range(3):
        f = tl.where(a < 0.5, erf_f64(y) - a, c - erfc_f64(y)) / (1.1283791670955126 * gauss(y))
        y = y - f / (1.0 + y * f)
    return tl.where(c == 0.0, float("inf"), y)


@triton.jit
def libdevice_erfinv(x):
    w = x.to(tl.float64)
    y = inverse_erf(tl.abs(w), 1.0 - tl.abs(w))
    return tl.where(x == 0.0, x, tl.where(w < 0.0, -y, y).to(x.dtype))


@triton.jit
def erfcinv_f64(w):
    c = tl.where(w > 1.0, 2.0 - w, w)
    y = inverse_erf(1.0 - c, c)
    return tl.where(w > 1.0, -y, y)


@triton.jit
def libdevice_erfcinv(x):
    return erfcinv_f64(x.to(tl.float64)).to(x.dtype)


@triton.jit
def libdevice_normcdfinv(x):
    return (erfcinv_f64(2.0 * x.to(tl.float64)) * -1.4142135623730951).to(x.dtype)


# -- products of microscaled formats, by multiplication and a dot of bf16 or f16 --
import triton
import triton.language as tl


# Unpacks pairs of 4-bit floats from bytes. Copies the two exponent bits of a 4-bit float to the lowest exponent bits of an f32,
# and its mantissa bit to the highest mantissa bit. The biases of the two exponents are 1 and 127, so the value is the f32 times
# 2^126.
@triton.jit
def unpack_e2m1(x):
    y = tl.interleave(x & 15, x >> 4).to(tl.int32)
    v = ((y & 7) << 22).to(tl.float32, bitcast=True) * 8.507059173023462e37
    return tl.where(y >= 8, -v, v)


# Converts an operand of tl.dot_scaled from its format to the type `to`. Pairs of e2m1 values are packed along the last
# dimension if packed_last is true, and along the first dimension otherwise.
@triton.jit
def unpack(x, format, packed_last, to):
    if format == "e2m1":
        tl.static_assert(x.dtype.primitive_bitwidth == 8, "e2m1 operands of tl.dot_scaled are pairs in uint8")
        x = unpack_e2m1(x) if packed_last else tl.trans(unpack_e2m1(tl.trans(x)))
    elif format == "e4m3":
        x = x.to(tl.float8e4nv, bitcast=True)
    elif format == "e5m2":
        x = x.to(tl.float8e5, bitcast=True)
    elif format == "bf16":
        x = x.to(tl.bfloat16, bitcast=True)
    else:
        tl.static_assert(format == "fp16", "formats of tl.dot_scaled are 'e2m1', 'e4m3', 'e5m2', 'bf16' and 'fp16'")
        x = x.to(tl.float16, bitcast=True)
    return x.to(to)


# Multiplies x, of shape [M, K], by the scales, and returns the product in type `to`. A scale of type float8e4nv is a
# factor, and applies to 16 elements of a row; a scale in uint8 means 2^(scale - 127), or NaN if it is 255; such a
# scale applies to 32 elements. `name` is the name of the parameter of tl.dot_scaled.
@triton.jit
def scaled(x, scale, to, name):
    m: tl.constexpr = x.shape[0]
    k: tl.constexpr = x.shape[1]
    is_float: tl.constexpr = scale.dtype == tl.float8e4nv
    group: tl.constexpr = 16 if is_float else 32
    n: tl.constexpr = scale.shape[1]
    tl.static_assert(
        scale.shape[0] == m and n * group == k,
        f"{name} must have the shape [{m}, {k // group}], one scale for each {group} elements of K; found [{scale.shape[0]}, {n}]",
    )
    if is_float:
        s = scale.to(tl.float32)
    else:
        s = scale.to(tl.uint8, bitcast=True).to(tl.int32)
        s = tl.where(s == 255, 0x7FC00000, tl.where(s == 0, 0x400000, s << 23)).to(tl.float32, bitcast=True)
    s = tl.reshape(tl.broadcast_to(s[:, :, None], (m, n, k // n)), (m, k))
    return (x.to(tl.float32) * s).to(to)


@triton.jit
def dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, fast_math, lhs_k_pack, rhs_k_pack, out_dtype):
    to: tl.constexpr = tl.float16 if lhs_format == "fp16" or rhs_format == "fp16" else tl.bfloat16
    tl.static_assert(len(lhs.shape) == 2 and len(rhs.shape) == 2, "tl.dot_scaled takes blocks of 2 dimensions")
    a = unpack(lhs, lhs_format, lhs_k_pack, to)
    b = unpack(rhs, rhs_format, not rhs_k_pack, to)
    if lhs_scale is not None:
        a = scaled(a, lhs_scale, to, "lhs_scale")
    if rhs_scale is not None:
        b = tl.trans(scaled(tl.trans(b), rhs_scale, to, "rhs_scale"))
    return tl.dot(a, b, acc, out_dtype=tl.float32 if out_dtype is None else out_dtype)
