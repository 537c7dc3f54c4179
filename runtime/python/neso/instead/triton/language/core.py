# SPDX-License-Identifier: MIT
"""triton.language.core in neso: types and constants for the host code of a program.

neso's library reads kernels from their text, so a function of the language has only a name and parameters here.
"""
import enum
import functools
import inspect
import operator

TRITON_BUILTIN = "__triton_builtin__"
TRITON_MAX_TENSOR_NUMEL = 1048576


# -- functions of the language --

class Builtin:
    """A function of the language. Calling it outside of a kernel raises an error."""

    def __init__(self, module, name, parameters):
        self.__module__, self.__name__, self.__qualname__ = module, name, name
        setattr(self, TRITON_BUILTIN, True)
        self.__signature__ = signature_of(parameters)

    def __call__(self, *args, **kwargs):
        raise ValueError(f"Did you forget to add @triton.jit ? {self.__module__}.{self.__name__} works in kernels only")

    def __repr__(self):
        return f"<function {self.__module__}.{self.__name__} of neso>"

    def __reduce__(self):
        return _builtin_named, (self.__module__, self.__name__)


def _builtin_named(module, name):
    return getattr(__import__(module, fromlist=[name]), name)


def signature_of(parameters):
    """Returns inspect's signature of "x, dim=None, *args", with the parameter `_semantic` that every function of the language has."""
    found, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for word in parameters:
        name, _, default = word.partition("=")
        if name.startswith("*"):
            found.append(inspect.Parameter(name.lstrip("*"), inspect.Parameter.VAR_KEYWORD if name.startswith("**")
                                           else inspect.Parameter.VAR_POSITIONAL))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            found.append(inspect.Parameter(name, kind, default=default if "=" in word else inspect.Parameter.empty))
    found.append(inspect.Parameter("_semantic", inspect.Parameter.KEYWORD_ONLY, default=None))
    found.sort(key=lambda p: p.kind)
    seen = [p for i, p in enumerate(found) if i == 0 or p.default is not inspect.Parameter.empty or p.kind != kind
            or found[i - 1].default is inspect.Parameter.empty]
    return inspect.Signature(seen)


@functools.lru_cache(None)
def language_table():
    """Returns the library's list of functions by module: {"tl": {"load": ["pointer", "mask=None"]}}."""
    from neso import library
    table = {}
    for line in library.help_text("language").splitlines():
        call, _, rest = line.partition("   ")
        if "(" not in call or "not supported" in rest:
            continue
        place, _, name = call[:call.index("(")].rpartition(".")
        parameters = [p for p in split_commas(call[call.index("(") + 1:call.rindex(")")]) if p != "*"]
        table.setdefault(place, {})[name] = parameters
    return table


def split_commas(text):
    return [p.strip() for p in text.split(", ") if p.strip()]


def language_functions(module, *places):
    return {name: Builtin(module, name, parameters) for place in places
            for name, parameters in language_table().get(place, {}).items() if name.isidentifier()}


def builtin(fn):
    """Marks a function that the compiler calls when a kernel uses it."""
    setattr(fn, TRITON_BUILTIN, True)
    return fn


def is_builtin(fn):
    return getattr(fn, TRITON_BUILTIN, False)


def must_use_result(x, s=True):
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x


# -- constants --

class constexpr_type:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"constexpr_type[{self.value}]"


class constexpr:
    """A compile-time constant. Operators on constants give constants."""

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash((self.value, self.type))

    def __index__(self):
        return self.value

    def __bool__(self):
        return bool(self.value)

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def __getitem__(self, *args):
        return self.value.__getitem__(*(_unwrap_if_constexpr(x) for x in _normalize_tuple(args)))

    def logical_and(self, other):
        return constexpr(self.value and _unwrap_if_constexpr(other))

    def logical_or(self, other):
        return constexpr(self.value or _unwrap_if_constexpr(other))


def _binary(op):
    return (lambda self, other: constexpr(op(self.value, _unwrap_if_constexpr(other))),
            lambda self, other: constexpr(op(_unwrap_if_constexpr(other), self.value)))


for _name in ("add", "sub", "mul", "mod", "truediv", "floordiv", "and_", "or_", "xor", "lshift", "rshift", "pow"):
    _plain = _name.rstrip("_")
    _forward, _backward = _binary(getattr(operator, _name))
    setattr(constexpr, f"__{_plain}__", _forward)
    setattr(constexpr, f"__r{_plain}__", _backward)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(constexpr, f"__{_name}__", _binary(getattr(operator, _name))[0])
for _name in ("neg", "pos", "invert"):
    setattr(constexpr, f"__{_name}__", lambda self, op=getattr(operator, _name): constexpr(op(self.value)))
setattr(constexpr, "__not__", lambda self: constexpr(not self.value))


def _unwrap_if_constexpr(x):
    if isinstance(x, list):
        return [_unwrap_if_constexpr(y) for y in x]
    if type(x) is builtins_tuple:
        return builtins_tuple(_unwrap_if_constexpr(y) for y in x)
    return x.value if isinstance(x, constexpr) else x


builtins_tuple = tuple  # a class below redefines the name `tuple`


def _normalize_tuple(x):
    x = _unwrap_if_constexpr(x)
    return list(x) if isinstance(x, builtins_tuple) else x


def check_bit_width(value, shift_value):
    if isinstance(value, tensor) and isinstance(shift_value, constexpr):
        raise ValueError("neso checks shifts when it compiles a kernel")


class const:
    """An annotation that marks a pointer through which the kernel only reads."""


# -- types --

_INTEGERS = {"int1": 1, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
_FLOATS = {"fp8e4b15": (8, 3, 15), "fp8e4nv": (8, 3, 7), "fp8e4b8": (8, 3, 8), "fp8e5": (8, 2, 15), "fp8e5b16": (8, 2, 16),
           "fp16": (16, 10, 15), "bf16": (16, 7, 127), "fp32": (32, 23, 127), "fp64": (64, 52, 1023)}
_SHORT = {"int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
          "uint32": "u32", "uint64": "u64"}


class base_type:
    pass


class dtype(base_type):
    """A type of elements: tl.float32 and so on."""
    SINT_TYPES = [n for n in _INTEGERS if n[0] == "i"]
    UINT_TYPES = [n for n in _INTEGERS if n[0] == "u"]
    FP_TYPES = list(_FLOATS)
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    def __init__(self, name):
        name = _unwrap_if_constexpr(name)
        if not dtype.is_dtype(name):
            raise AssertionError(f"'{name}' is no type of the language; the types are {', '.join([*_INTEGERS, *_FLOATS])}")
        self.name = name
        bits = _INTEGERS.get(name, 0)
        if name in _INTEGERS:
            self.int_signedness = dtype.SIGNEDNESS.SIGNED if name in self.SINT_TYPES else dtype.SIGNEDNESS.UNSIGNED
            self.int_bitwidth = bits
        elif name in _FLOATS:
            bits, self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        self.primitive_bitwidth = bits
        self.itemsize = bits // 8

    @staticmethod
    def is_dtype(name):
        return name in _INTEGERS or name in _FLOATS or name == "void"

    def is_fp8(self):
        return "fp8" in self.name

    def is_floating(self):
        return self.name in _FLOATS

    def is_standard_floating(self):
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self):
        return self.name in self.SINT_TYPES

    def is_int_unsigned(self):
        return self.name in self.UINT_TYPES

    def is_int(self):
        return self.name in _INTEGERS

    def is_bool(self):
        return self.name == "int1"

    def is_void(self):
        return self.name == "void"

    def kind(self):
        return dtype.KIND.FLOATING if self.is_floating() else dtype.KIND.BOOLEAN if self.is_bool() else dtype.KIND.INTEGRAL

    def get_int_max_value(self):
        return 2 ** (self.int_bitwidth - self.is_int_signed()) - 1

    def get_int_min_value(self):
        return -2 ** (self.int_bitwidth - 1) if self.is_int_signed() else 0

    @staticmethod
    def is_block():
        return False

    @staticmethod
    def is_ptr():
        return False

    @staticmethod
    def is_const():
        return False

    @property
    def scalar(self):
        return self

    @property
    def cache_key_part(self):
        return self.name

    def mangle(self):
        return _SHORT.get(self.name, self.name)

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return type(other) is dtype and other.name == self.name

    def __hash__(self):
        return hash(self.name)

    def __str__(self):
        return self.name

    def codegen_name(self):
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        return "bfloat" + self.name[2:] if self.name.startswith("bf") else self.name

    def __repr__(self):
        return f"triton.language.{self.codegen_name()}"


for _name in _INTEGERS:
    setattr(dtype, f"is_{_name}", lambda self, _n=_name: self.name == _n)
for _name in _FLOATS:
    setattr(dtype, f"is_{_name}", lambda self, _n=_name: self.name == _n)


class pointer_type(dtype):
    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = _unwrap_if_constexpr(element_ty)
        if not isinstance(element_ty, base_type):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self.element_ty, self.address_space, self.const = element_ty, address_space, const
        self.name = f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
        self.primitive_bitwidth, self.itemsize = 64, 8

    def is_ptr(self):
        return True

    def is_const(self):
        return self.const

    def mangle(self):
        return "*" + ("k" if self.const else "") + self.element_ty.mangle()

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return isinstance(other, pointer_type) and (self.element_ty, self.address_space, self.const) == (
            other.element_ty, other.address_space, other.const)

    def __hash__(self):
        return hash((self.name, self.address_space))

    def __repr__(self):
        return self.name


class block_type(dtype):
    def __init__(self, element_ty, shape):
        self.element_ty = element_ty
        self.shape = builtins_tuple(_unwrap_if_constexpr(x) for x in shape)
        self.numel = functools.reduce(operator.mul, self.shape, 1)
        self.name = f"<{list(self.shape)}, {element_ty}>"

    def is_block(self):
        return True

    def get_block_shapes(self):
        return self.shape

    @property
    def scalar(self):
        return self.element_ty

    def __eq__(self, other):
        return isinstance(other, block_type) and (self.element_ty, self.shape) == (other.element_ty, other.shape)

    def __hash__(self):
        return hash((self.name,))


void = dtype("void")
int1, int8, int16, int32, int64 = (dtype(f"int{n}") for n in (1, 8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (dtype(f"uint{n}") for n in (8, 16, 32, 64))
float8e5, float8e5b16, float8e4nv, float8e4b8, float8e4b15 = (dtype(f"fp8{n}") for n in ("e5", "e5b16", "e4nv", "e4b8", "e4b15"))
float16, bfloat16, float32, float64 = (dtype(n) for n in ("fp16", "bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)


def get_int_dtype(bitwidth, signed):
    bitwidth, signed = _unwrap_if_constexpr(bitwidth), _unwrap_if_constexpr(signed)
    if bitwidth not in (1, 8, 16, 32, 64):
        raise ValueError(f"Unsupported bitwidth {bitwidth} and signedness {signed}")
    return dtype("int1" if bitwidth == 1 else f"{'' if signed else 'u'}int{bitwidth}")


def str_to_ty(name, c=None):
    """Returns the type for a word of a signature: "*fp16", "i32"."""
    if name.startswith("*"):
        is_const = name.startswith("*k")
        return pointer_type(str_to_ty(name[2:] if is_const else name[1:], c), const=is_const)
    if name == "constexpr":
        return constexpr
    names = {short: long for long, short in _SHORT.items()}
    return dtype({"u1": "int1", "B": "int1"}.get(name) or names.get(name, name))


# -- classes for annotations --

class base_value:
    pass


class tensor(base_value):
    """The type of tiles and scalars, which exist only in kernels."""

    def __init__(self, *args, **kwargs):
        raise TypeError("tl.tensor exists in kernels only, and neso compiles those from their text")


class tuple(base_value):
    def __init__(self, args, type=None):
        self.values = list(args)

    def __getitem__(self, i):
        return self.values[_unwrap_if_constexpr(i)]

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)


class tensor_descriptor_base(base_value):
    def __init__(self, *args, **kwargs):
        raise TypeError("a kernel's tensor descriptor exists in kernels only; on the host use "
                        "triton.tools.tensor_descriptor.TensorDescriptor")


class tensor_descriptor(tensor_descriptor_base):
    pass


class slice:
    def __init__(self, start, stop=None, step=None):
        self.start, self.stop, self.step = start, stop, step


CONSTEXPR_0 = constexpr(0)


class PropagateNan(enum.Enum):
    NONE = 0
    ALL = 0xFFFF


class _Range:
    """The type of loop ranges in kernels, for isinstance."""

    def __init__(self, arg1, arg2=None, step=None, **hints):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = constexpr(1) if step is None else step
        for name, value in hints.items():
            setattr(self, name, value)

    def __iter__(self):
        raise RuntimeError(f"tl.{type(self).__name__} can only be used in @triton.jit'd functions")


range = type("range", (_Range,), {"__module__": __name__})
static_range = type("static_range", (_Range,), {"__module__": __name__})


def _aggregate(cls):
    raise NotImplementedError("neso does not have classes by @tl.core._aggregate yet")


_OWN = set(globals())
__all__ = [name for name in _OWN if not name.startswith("_") and name not in ("enum", "functools", "inspect", "operator")]
globals().update({name: f for name, f in language_functions(__name__, "tl.core", "tl").items() if name not in _OWN})
__all__ += [name for name in globals() if name not in _OWN and not name.startswith("_")]


def __getattr__(name):
    raise AttributeError(f"neso's triton.language has no '{name}'; `neso help language` lists what it has")
