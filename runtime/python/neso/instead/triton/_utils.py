# SPDX-License-Identifier: MIT
"""triton._utils in neso: walks over tuples, and the names of types."""
type_canonicalisation_dict = {
    "bool": "u1", "int1": "i1", "uint1": "u1", "i1": "i1", "u1": "u1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "int": "i32", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "u8": "u8", "u16": "u16", "u32": "u32", "u64": "u64",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "float8e4b15": "fp8e4b15", "float8_e4m3fn": "fp8e4nv", "float8e4b8": "fp8e4b8",
    "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5", "float8e5b16": "fp8e5b16", "float8_e5m2fnuz": "fp8e5b16",
    "half": "fp16", "float16": "fp16", "bfloat16": "bf16", "float": "fp32", "float32": "fp32", "double": "fp64", "float64": "fp64",
    "fp8e4nv": "fp8e4nv", "fp8e5": "fp8e5", "fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "fp64": "fp64", "void": "void",
}
BITWIDTH_DICT = {**{f"{s}{n}": n for s in "iu" for n in (1, 8, 16, 32, 64)}, "fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64,
                 "void": 0, **{f"fp8e{n}": 8 for n in ("4nv", "4b15", "4b8", "5", "5b16")}}


def canonicalize_dtype(dtype):
    return type_canonicalisation_dict[str(dtype).split(".")[-1]]


def get_primitive_bitwidth(dtype):
    return BITWIDTH_DICT[dtype]


def is_namedtuple(x):
    return (issubclass(x, tuple) if isinstance(x, type) else isinstance(x, tuple)) and hasattr(x, "_fields")


def get_iterable_path(iterable, path):
    for i in path:
        iterable = iterable[i]
    return iterable


def find_paths_if(iterable, pred):
    """Returns the paths (tuples of indices) of the items in nested lists and tuples for which pred(path, item) is true."""
    found = []

    def walk(x, path):
        if isinstance(x, (list, tuple)):
            for i, item in enumerate(x):
                walk(item, path + (i,))
        elif pred(path, x):
            found.append(path)

    walk(iterable, ())
    return found


def validate_block_shape(shape):
    numel = 1
    for i, d in enumerate(shape):
        if not isinstance(d, int):
            raise TypeError(f"Shape element {i} must have type `constexpr[int]`, got `constexpr[{type(d)}]")
        if d < 1 or d & (d - 1):
            raise ValueError(f"Shape element {i} must be a power of 2")
        numel *= d
    if numel > 1048576:
        raise ValueError(f"numel ({numel}) exceeds triton maximum tensor numel (1048576)")
    return numel
