# SPDX-License-Identifier: MIT
"""triton._internal_testing in neso: functions that tests of kernels import. They query the GPU, make random arrays, and convert between
NumPy and torch."""
import os
import re

import numpy as np
import pytest
import torch

from . import knobs
from . import language as tl
from .runtime.driver import driver
from .runtime.jit import TensorWrapper, reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["u" + x for x in int_dtypes]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = float_dtypes + ["bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = dtypes + ["bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool"] + int_dtypes + ["uint8"] + float_dtypes + ["bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


# -- the GPU --

def is_interpreter():
    return os.environ.get("TRITON_INTERPRET", "0") == "1"


def get_current_target():
    return None if is_interpreter() else driver.active.get_current_target()


def _has_backend(name):
    target = get_current_target()
    return target is not None and target.backend == name


def _capability():
    return get_current_target().arch // 10 if is_cuda() else 0


def is_cuda():
    return _has_backend("cuda")


def is_ampere_or_newer():
    return _capability() >= 8


def is_hopper():
    return _capability() == 9


def is_hopper_or_newer():
    return _capability() >= 9


def is_blackwell():
    return _capability() == 10


def is_sm12x():
    return _capability() == 12


def is_hip():
    return _has_backend("hip")


def is_xpu():
    return _has_backend("xpu")


def _is_hip_of(part):
    return lambda: is_hip() and part in str(get_current_target().arch)


is_hip_cdna2, is_hip_cdna3, is_hip_cdna4 = _is_hip_of("gfx90a"), _is_hip_of("gfx942"), _is_hip_of("gfx950")
is_hip_gfx11, is_hip_gfx12, is_hip_gfx1250 = _is_hip_of("gfx11"), _is_hip_of("gfx12"), _is_hip_of("gfx1250")


def is_hip_cdna():
    return is_hip_cdna2() or is_hip_cdna3() or is_hip_cdna4()


def get_hip_lds_size():
    return (160 if is_hip_cdna4() else 64) << 10


def get_arch():
    target = get_current_target()
    return str(target.arch) if target is not None else ""


def supports_tma(byval_only=False):
    return is_interpreter() or is_hopper_or_newer()


def supports_ws():
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only=False):
    return "needs tensor maps: NVIDIA Hopper or later"


requires_tma = pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())


# -- arrays --

def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """Returns an array of random numbers: integers of the whole range (or low to high) except 0, or normally distributed floats."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = np.random.RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        x = rs.randint(low, high, shape, dtype=dtype_str)
        x[x == 0] = 1
        return x
    if "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    x = rs.normal(0, 1, shape)
    if dtype_str in ("bool", "int1", "bool_"):
        return x > 0
    if dtype_str == "bfloat16":
        return (x.astype("float32").view("uint32") & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in float_dtypes:
        return x.astype(dtype_str)
    raise RuntimeError(f"Unknown dtype {dtype_str}")


def to_triton(x, device, dst_type=None):
    """Returns a NumPy array as a tensor; dst_type is a type that NumPy lacks: "bfloat16", "float8e5"."""
    name = x.dtype.name
    if name in uint_dtypes:
        return reinterpret(torch.tensor(x.astype(name[1:]), device=device), getattr(tl, name))
    tensor = torch.tensor(x, device=device)
    if dst_type and "float8" in dst_type:
        return reinterpret(tensor, getattr(tl, dst_type))
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def unwrap_tensor(t):
    return t.base if isinstance(t, TensorWrapper) else t


def to_numpy(x):
    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().astype(torch_dtype_name(x.dtype))
    if isinstance(x, torch.Tensor):
        return (x.float() if x.dtype is torch.bfloat16 else x).cpu().numpy()
    raise ValueError(f"Not a triton-compatible tensor: {x}")


def torch_dtype_name(dtype):
    if isinstance(dtype, tl.dtype):
        return dtype.name
    if isinstance(dtype, torch.dtype):
        return re.match(r"^torch\.(\w+)$", str(dtype)).group(1)
    raise TypeError(f"not a triton or torch dtype: {type(dtype)}")


def str_to_triton_dtype(x):
    return tl.str_to_ty(type_canonicalisation_dict[x], None)


def default_alloc_fn(size, align, _):
    return torch.empty(size, dtype=torch.int8, device="cuda")


# -- settings --

def _fresh_knobs_impl(skipped_attr=None):
    """Returns two functions: one that resets all settings and their environment variables, and returns triton.knobs; one that restores them."""
    sets = {name: x for name, x in vars(knobs).items() if isinstance(x, knobs.base_knobs) and name not in (skipped_attr or ())}
    environment, propagates = dict(os.environ), knobs.propagate_env

    def fresh():
        for name, x in sets.items():
            setattr(knobs, name, x.copy().reset())
            for knob in x.knob_descriptors.values():
                os.environ.pop(knob.key, None)
        knobs.propagate_env = True
        return knobs

    def restore():
        for name, x in sets.items():
            setattr(knobs, name, x)
            for key in [knob.key for knob in x.knob_descriptors.values()]:
                os.environ.pop(key, None)
                if key in environment:
                    os.environ[key] = environment[key]
        knobs.propagate_env = propagates

    return fresh, restore
