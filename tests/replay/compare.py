"""compare.py: compares two memories that should agree, element by element.

Integers, and elements that Triton did not write, must be equal; NaN equals NaN. Floats may differ by BOUND of their type times (|x| + the
root mean square of the written values, or of the values that they overwrote), because the language does not define the order of sums,
fused multiply-adds, approximate functions and the rounding of tensor cores. It does not define the order of atomic operations either: a
kernel that uses their results as addresses of stores may write the same elements in another order (`same_elements`).
"""
import numpy as np

INTEGERS = {"bool": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}
FLOATS = {"fp16": "f2", "fp32": "f4", "fp64": "f8"}
BOUND = {"fp64": 1e-11, "fp32": 2e-5, "fp16": 4e-3, "bf16": 3e-2, "fp8e4nv": 0.15, "fp8e5": 0.3}
BOUND_OF_DOTS = 5e-3  # f32 dots compute in tf32


def fp8_values(exponent_bits, mantissa_bits, bias, has_infinity):
    codes = np.arange(256)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = codes & ((1 << mantissa_bits) - 1)
    values = np.where(exponent > 0, (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias),
                      mantissa / (1 << mantissa_bits) * 2.0 ** (1 - bias))
    top = exponent == (1 << exponent_bits) - 1
    if has_infinity:
        values = np.where(top, np.where(mantissa == 0, np.inf, np.nan), values)
    else:
        values = np.where(top & (mantissa == (1 << mantissa_bits) - 1), np.nan, values)
    return np.where(codes & 128, -values, values)


FP8 = {"fp8e4nv": fp8_values(4, 3, 7, False), "fp8e5": fp8_values(5, 2, 15, True)}


def is_float(kind):
    return kind in BOUND


def raw(data, kind):
    """Returns the elements as integers, and the remaining bytes."""
    size = {"bf16": 2, "fp8e4nv": 1, "fp8e5": 1}.get(kind) or int((INTEGERS.get(kind) or FLOATS.get(kind) or "u1")[1])
    whole = len(data) // size * size
    return np.frombuffer(data[:whole], dtype=f"u{size}"), data[whole:]


def decode(codes, kind):
    if kind == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind in FP8:
        return FP8[kind][codes]
    return codes.view(FLOATS[kind]).astype(np.float64)


def bound_of(kind, kinds, has_dots):
    """Returns the permitted error of an element, for a kernel whose tensors have these types: the kernel may compute in the least
    precise of them."""
    if kind not in BOUND:
        return 0
    return max([BOUND[k] for k in kinds if k in BOUND] + [BOUND[kind], BOUND_OF_DOTS if has_dots else 0])


def scale_of(values):
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite ** 2))) if finite.size else 0.0


def float_error(found, expected, kind, scale):
    """Returns the error of each element in units of |x| + scale: inf where only one value is NaN, or where infinities differ."""
    f, e = decode(found, kind), decode(expected, kind)
    with np.errstate(all="ignore"):
        size = np.abs(e) + scale
        error = np.where(f == e, 0.0, np.abs(f - e) / np.where(size > 0, size, 1.0))
    error[np.isnan(f) & np.isnan(e)] = 0.0
    return np.where(np.isnan(error), np.inf, error)


def excess(found, expected, before, kind, bound):
    """Returns the largest error in units of the bound; it is infinite if integers differ."""
    difference = compare(found, expected, before, kind, bound)
    if not difference:
        return 0.0
    return difference["error"] / bound if isinstance(difference["error"], float) else float("inf")


def compare(found, expected, before, kind, bound, varied=None):
    """Returns None if the memories are equal, else {"error", "count", "first", ...}; "agrees" is true if the error is within the bound.

    `varied` is the memory after another run of the reference. Where the two runs of the reference differ, our result may differ from
    the reference as much."""
    if found == expected or found == varied:
        return None
    (f, rest_f), (e, rest_e), (b, _) = raw(found, kind), raw(expected, kind), raw(before, kind)
    differs = np.nonzero(f != e)[0]
    unwritten = int(np.count_nonzero(e[differs] == b[differs]))
    result = {"count": int(differs.size), "of": int(f.size), "unwritten": unwritten, "type": kind}
    if differs.size == 0:
        return None if rest_f == rest_e else dict(result, error="bytes at the end", agrees=False)
    if not is_float(kind):
        return judge_integers(result, f, e, differs, varied, kind)
    written = e[e != b]
    scale = max(scale_of(decode(written if written.size else e, kind)), scale_of(decode(b[e != b], kind)))
    error = float_error(f[differs], e[differs], kind, scale)
    if varied is not None:
        v, _ = raw(varied, kind)
        bound = max(bound, 4 * float(np.max(float_error(v, e, kind, scale), initial=0.0)))
    worst = int(np.argmax(error))
    at = int(differs[worst])
    result.update(error=float(error[worst]), bound=bound, over=int(np.count_nonzero(error > bound)), first=at,
                  found=float(decode(f[at:at + 1], kind)[0]), expected=float(decode(e[at:at + 1], kind)[0]), scale=scale)
    result["agrees"] = bool(error[worst] <= bound)
    return None if error[worst] == 0 else result


def judge_integers(result, f, e, differs, varied, kind):
    at = int(differs[0])
    signed = np.dtype(INTEGERS.get(kind, "u1"))
    result.update(error="integers", first=at, found=int(f[at:at + 1].view(signed)[0]),
                  expected=int(e[at:at + 1].view(signed)[0]), over=result["count"])
    result["agrees"] = False
    if varied is not None:
        v, _ = raw(varied, kind)
        result["agrees"] = bool(np.all(v[differs] != e[differs]))
    return result


def same_elements(found, expected, kind):
    """Returns whether two memories contain the same elements, bit by bit, in any order."""
    (f, rest_f), (e, rest_e) = raw(found, kind), raw(expected, kind)
    return rest_f == rest_e and np.array_equal(np.sort(f), np.sort(e))


def text(result):
    if result.get("bound") is None:
        return f"{result['count']} of {result['of']} {result['type']} differ, at {result.get('first')}: " \
               f"{result.get('found')} not {result.get('expected')}"
    return f"{result['over']} of {result['of']} {result['type']} off by up to {result['error']:.3g} (bound {result['bound']:.2g})," \
           f" at {result['first']}: {result['found']:.6g} not {result['expected']:.6g}"
