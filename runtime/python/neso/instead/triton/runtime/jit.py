# SPDX-License-Identifier: MIT
"""triton.runtime.jit in neso: the objects that @triton.jit returns, and launches of kernels.

    kernel[grid](x, y, n, BLOCK=512)
       arguments ─► types and promises (specialize_impl) ─► a compiled kernel of the device ─► launch

Python never executes a kernel's body: neso's library compiles the text of the body (neso/source.py).
"""
import ast
import copy
import hashlib
import inspect
import json
import os
import re
import sys
import textwrap
import threading
import weakref
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

from neso import check, fallback, launches, torch_calls
from neso.launches import check_tensors

from .. import knobs
from .._utils import canonicalize_dtype, find_paths_if, get_iterable_path, is_namedtuple, type_canonicalisation_dict
from . import _async_compile
from .cache import get_cache_key
from .driver import driver

TRITON_MODULE = "triton.language"
GLUON_MODULE = "triton.experimental.gluon.language"


# -- the types of arguments --

_POINTERS = {}  # (dtype, is_const): "*fp32"


def pointer_to(dtype, is_const=False):
    found = _POINTERS.get((dtype, is_const))
    if found is None:
        name = dtype.mangle() if hasattr(dtype, "mangle") else canonicalize_dtype(dtype)
        found = _POINTERS[dtype, is_const] = ("*k" if is_const else "*") + {"i1": "u1"}.get(name, name)
    return found


def address_of(x):
    """Returns the address of an array's first element; None if arg is not an array."""
    if hasattr(x, "data_ptr"):
        return x.data_ptr()
    face = getattr(x, "__cuda_array_interface__", None) or getattr(x, "__array_interface__", None)
    if face is not None and getattr(x, "shape", ()) != ():
        return face["data"][0]
    if hasattr(x, "unsafe_buffer_pointer"):
        return x.unsafe_buffer_pointer()
    return None


def _specialize_int(x, specialize_value, align):
    if specialize_value and x == 1:
        return "constexpr", 1
    if not -2**63 <= x < 2**64:
        raise OverflowError(f"the integer {x} has no type of 64 bits or fewer")
    kind = "i32" if -2**31 <= x < 2**31 else "u64" if 2**63 <= x < 2**64 else "i64"
    return kind, ("D" if align and x % 16 == 0 else "") if specialize_value else None


def specialize_impl(backend, arg, is_const=False, specialize_value=True, align=True):
    """Returns (type, promise) of an argument: ("*fp32", "D"), ("i32", ""), ("constexpr", 1)."""
    kind = type(arg)
    if kind is int:
        return _specialize_int(arg, specialize_value, align)
    if arg is None:
        return "constexpr", None
    if kind is bool:
        return "u1", None
    if kind is float:
        return "fp32", None
    if isinstance(arg, JITCallable):
        return "constexpr", arg.cache_key
    from ..language import core
    if isinstance(arg, core.constexpr):
        return "constexpr", arg
    if isinstance(arg, tuple):
        parts = [specialize_impl(backend, x) for x in arg]
        make = (lambda xs: kind(*xs)) if is_namedtuple(arg) else tuple
        return make([p[0] for p in parts]), make([p[1] for p in parts])
    if hasattr(arg, "tma_desc_cpu_ptr"):
        return "nvTmaDesc", None
    return _specialize_object(arg, is_const, specialize_value, align)


def _specialize_object(arg, is_const, specialize_value, align):
    from ..tools.tensor_descriptor import TensorDescriptor
    if isinstance(arg, TensorDescriptor):
        inner = canonicalize_dtype(arg.base.dtype)
        padding = ", nan" if arg.padding == "nan" else ""
        return f"tensordesc<{inner}{list(arg.block_shape)}{padding}>", None
    address = address_of(arg)
    if address is not None:
        return pointer_to(arg.dtype, is_const), ("D" if align and address % 16 == 0 else "") if specialize_value else None
    if isinstance(arg, int):  # for example, a member of an IntEnum
        kind, promise = _specialize_int(int(arg), specialize_value, align)
        return kind, arg if kind == "constexpr" else promise
    if isinstance(arg, float):
        return "fp32", None
    if hasattr(arg, "__index__") and getattr(arg, "shape", None) == ():  # a NumPy integer
        return _specialize_int(int(arg), specialize_value, align)
    if hasattr(arg, "__float__") and getattr(arg, "shape", None) == ():
        return "fp32", None
    raise TypeError(f"failed to specialize argument of type: {type(arg).__name__}")


def native_specialize_impl(backend, arg, is_const, specialize_value, align):
    return specialize_impl(backend, arg, is_const, specialize_value, align)


def mangle_type(arg, specialize=False):
    return specialize_impl(None, arg, False, specialize, True)[0]


# -- parameters --

def _normalize_ty(ty):
    if isinstance(ty, str):
        ty = ty.strip()
        if ty.startswith("const "):
            return "*k" + _normalize_ty(ty[len("const "):])[1:]
        if ty.endswith("*"):
            return "*" + _normalize_ty(ty[:-1])
        if ty.startswith("*"):
            return "*" + _normalize_ty(ty[1:])
        if ty.startswith("tl."):
            return _normalize_ty(ty[3:])
    elif hasattr(ty, "element_ty") and ty.is_ptr():
        return "*" + _normalize_ty(ty.element_ty)
    elif hasattr(ty, "primitive_bitwidth"):
        ty = ty.name
    else:
        ty = ty.__name__ if isinstance(ty, type) else str(ty)
    return type_canonicalisation_dict.get(ty.replace("_t", ""), ty)


class KernelParam:
    """A parameter of a kernel: its name, and the information from its annotation and from the decorator."""

    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param = num, param
        self.do_not_specialize, self.do_not_specialize_on_alignment = do_not_specialize, do_not_specialize_on_alignment

    @cached_property
    def name(self):
        return self._param.name

    @cached_property
    def annotation(self):
        a = self._param.annotation
        return "" if a is inspect.Parameter.empty or not a else _normalize_ty(a)

    @cached_property
    def annotation_type(self):
        """Returns the type that the annotation demands, or ""."""
        plain = self.annotation[2:] if self.annotation.startswith("*k") else self.annotation.lstrip("*")
        return self.annotation if plain in type_canonicalisation_dict.values() else ""

    @cached_property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @cached_property
    def is_const(self):
        return not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))

    @property
    def default(self):
        return self._param.default

    @property
    def has_default(self):
        return self._param.default is not inspect.Parameter.empty


def _specialization_of(p):
    """Returns the Python text with which a binder specializes one argument."""
    if p.is_constexpr:
        return f"('constexpr', {p.name})"
    call = (f"specialize_impl(backend, {p.name}, {bool(p.is_const)}, {not p.do_not_specialize}, "
            f"{not p.do_not_specialize_on_alignment})")
    kind = p.annotation_type
    if not kind:
        return call
    if p.do_not_specialize or kind == "u1" or kind[:2] in ("fp", "bf"):
        return f"('{kind}', None)"
    return f"('{kind}',) + {call}[1:]"


def create_function_from_signature(sig, kparams, backend):
    """Returns a function that binds the arguments of a call, and returns (arguments by name, their specialization, other keywords)."""
    given = [p.name if not p.has_default else f"{p.name}=default_{p.name}" for p in kparams]
    text = (f"def binder({', '.join(given + ['**options'])}):\n"
            f"    return ({{{', '.join(f'{p.name!r}: {p.name}' for p in kparams)}}},\n"
            f"            [{', '.join(_specialization_of(p) for p in kparams)}], options)\n")
    scope = {f"default_{p.name}": p.default for p in kparams if p.has_default}
    scope.update(specialize_impl=specialize_impl, backend=backend)
    exec(text, scope)
    return scope["binder"]


# -- the values on which a kernel depends --

_BUILTIN_NAMES = {"float", "getattr", "int", "isinstance", "len", "list", "max", "min", "print", "range"}


class _Locals(ast.NodeVisitor):
    """Collects the names of parameters, and the names that a function assigns by other statements than `=` and `for`."""

    def __init__(self):
        self.names = set()

    def visit_arg(self, node):
        self.names.add(node.arg)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def visit_Assign(self, node):
        self.visit(node.value)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_For(self, node):
        for x in (node.iter, *node.body, *node.orelse):
            self.visit(x)


class _Dependencies(ast.NodeVisitor):
    """Collects the current values of the globals that a function reads, and a digest of the functions that it calls. As in Triton, an assignment
    hides a global only in the code after the assignment."""

    def __init__(self, fn):
        self.fn = fn
        self.globals, self.nonlocals = fn.__globals__, inspect.getclosurevars(fn.fn).nonlocals
        self.hasher = hashlib.sha256(fn.src.encode())
        self.used = {}
        tree = fn.parse()
        locals_ = _Locals()
        locals_.visit(tree.body[0].args)
        for statement in tree.body[0].body:
            locals_.visit(statement)
        self.locals = locals_.names
        self.visit(tree)

    def add(self, value, scope=None, name=None):
        if value is None or isinstance(value, ModuleType) or getattr(value, "__triton_builtin__", False):
            return
        value_fn = unwrapped(value)
        if isinstance(value_fn, JITCallable):
            self.add_callee(value_fn)
            return
        if inspect.isroutine(value) and not (getattr(value, "__module__", None) or "").startswith("triton."):
            raise RuntimeError(f"Unsupported function referenced: {value}: a kernel calls functions with @triton.jit or @triton.constexpr_function")
        if scope is not None and not isinstance(value, type) and not inspect.isroutine(value):
            self.used[name, id(scope)] = (_copied(value), scope)

    def add_callee(self, callee):
        key = callee.cache_key
        for k in self.used.keys() & callee.used_global_vals.keys():
            mine, theirs = self.used[k][0], callee.used_global_vals[k][0]
            if not _same(mine, theirs):
                raise RuntimeError(f"Global variable {k[0]} has value {mine} when compiling {self.fn._fn_name}, but inner kernel "
                                   f"{callee.__name__} has conflicting value {theirs} from when it was first compiled.  "
                                   "This is not allowed.")
        self.used.update(callee.used_global_vals)
        self.hasher.update((key + str(getattr(callee, "noinline", False))).encode())

    def _hide(self, target):
        self.locals.update(x.id for x in ast.walk(target) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))

    def visit_Assign(self, node):
        for target in node.targets:
            self._hide(target)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        self._hide(node.target)
        self.generic_visit(node)

    visit_For = visit_AnnAssign

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store) or node.id in self.locals:
            return None
        for scope in (self.nonlocals, self.globals):
            if scope.get(node.id) is not None:
                if node.id not in _BUILTIN_NAMES:
                    self.add(scope[node.id], scope, node.id)
                return scope[node.id]
        return None

    def visit_Attribute(self, node):
        left = self.visit(node.value)
        if left is None or getattr(left, "__name__", "").startswith(("triton", "math")):
            return None
        value = getattr(left, node.attr, None)
        self.add(value)
        return value

    def visit_arguments(self, node):
        """Skips the defaults, which Python evaluated at the definition."""
        for a in node.args + node.kwonlyargs + node.posonlyargs:
            if a.annotation:
                self.visit(a.annotation)


def _copied(value):
    try:
        return copy.deepcopy(value)
    except Exception:  # an object that cannot be copied is compared with itself
        return value


def _same(x, y):
    try:
        return x is y or bool(x == y)
    except Exception:
        return False


def unwrapped(x):
    """The jit function below autotuners, heuristics and wrappers that keep it as `fn`."""
    while not isinstance(x, JITCallable) and not inspect.isroutine(x) and isinstance(getattr(x, "fn", None), (JITCallable, KernelInterface)):
        x = x.fn
    return x


# -- functions --

def get_full_name(fn):
    return f"{fn.__module__}.{fn.__qualname__}"


class JITCallable:
    """A function that kernels call."""

    def __init__(self, fn):
        self.fn = fn
        self.signature = inspect.signature(fn)
        try:
            self.raw_src, self.starting_line_number = inspect.getsourcelines(fn)
        except OSError as e:
            raise ValueError("@jit functions should be defined in a Python file") from e
        self._fn_name = get_full_name(fn)
        self._hash_lock = threading.RLock()
        text = textwrap.dedent("".join(self.raw_src))
        self._src = text[re.search(r"^def\s+\w+\s*\(", text, re.MULTILINE).start():]
        self.hash = None
        self.used_global_vals = {}  # (name, id of its dictionary): (value, dictionary)
        self.__doc__, self.__name__, self.__qualname__ = fn.__doc__, fn.__name__, fn.__qualname__
        self.__globals__, self.__module__ = fn.__globals__, fn.__module__

    def get_capture_scope(self):
        return {**self.__globals__, **inspect.getclosurevars(self.fn).nonlocals}

    @property
    def cache_key(self):
        """Returns a digest of the function's text, of the functions that it calls, and of its constants."""
        from ..language.core import constexpr
        with self._hash_lock:
            if self.hash is not None:
                return self.hash
            self.hash = f"recursion:{self._fn_name}"
            try:
                found = _Dependencies(self)
            except BaseException:
                self.hash = None
                raise
            self.used_global_vals = dict(sorted(found.used.items(), key=lambda item: item[0]))
            constants = [(name, value) for (name, _), (value, _) in self.used_global_vals.items() if isinstance(value, constexpr)]
            text = f"{found.hasher.hexdigest()}{self.starting_line_number}{constants}"
            self.hash = hashlib.sha256(text.encode()).hexdigest()
            return self.hash

    def __hash__(self):
        return hash(self.cache_key)

    def __eq__(self, other):
        return self is other

    def parse(self):
        tree = ast.parse(self._src)
        assert isinstance(tree, ast.Module) and len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef)
        return tree

    @property
    def type(self):
        from ..language.core import constexpr_type
        return constexpr_type(self)

    def _unsafe_update_src(self, new_src):
        self.hash, self._src = None, new_src
        knobs._replaced.append("src")  # kernels that call this function may already be compiled

    @property
    def src(self):
        return self._src

    @src.setter
    def src(self, new_src):
        raise AttributeError("Cannot set attribute 'src' directly. Use '_unsafe_update_src()' and manually clear `.hash` of all "
                             "callers instead.")


class KernelInterface:
    """An object that kernel[grid](arguments) launches."""

    def warmup(self, *args, grid, **kwargs):
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError("run not implemented")

    def __class_getitem__(cls, item):
        return cls

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


@dataclass
class JitFunctionInfo:
    module: ModuleType
    name: str
    jit_function: Any


def compute_cache_key(kernel_key_cache, specialization, options):
    key = (tuple(specialization), str(options))
    try:
        found = kernel_key_cache.get(key)
    except TypeError:  # a value that has no hash
        return str(_without_callables(specialization)) + str(options)
    if found is None:
        found = kernel_key_cache[key] = str(_without_callables(specialization)) + str(options)
    return found


def _without_callables(x):
    if isinstance(x, JITCallable):
        return x.cache_key
    if isinstance(x, list):
        return [_without_callables(y) for y in x]
    if is_namedtuple(x):
        return type(x)(*[_without_callables(y) for y in x])
    return tuple(_without_callables(y) for y in x) if isinstance(x, tuple) else x


class _Kernels(dict):
    """Compiled kernels by their keys. Removing a kernel also removes it from the table of launches in C."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def clear(self):
        super().clear()
        self.fn.forget()

    def pop(self, *args):
        self.fn.forget()
        return super().pop(*args)

    def __delitem__(self, key):
        super().__delitem__(key)
        self.fn.forget()


class _DeviceCaches(_Kernels):
    """For each device: its kernels, their keys, the target, the backend, and the function that binds calls."""

    def __missing__(self, device):
        self[device] = found = self.fn.create_binder()
        return found


INDEXED, _FOLDED = ((), ()) if launches.extension is None else ((launches.extension.Indexed,), (launches.extension.Folded,))


class JITFunction(*INDEXED, JITCallable, KernelInterface):
    device = None  # "interpreter": this kernel runs there, wherever other kernels run

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None,
                 repr=None, launch_metadata=None):
        JITCallable.__init__(self, fn)
        self.module, self.version, self._repr, self.launch_metadata = fn.__module__, version, repr, launch_metadata
        self.do_not_specialize = do_not_specialize or []
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment or []
        self.params = []
        for i, param in enumerate(self.signature.parameters.values()):
            named = [i in names or param.name in names for names in (self.do_not_specialize, self.do_not_specialize_on_alignment)]
            self.params.append(KernelParam(i, param, *named))
        self.device_caches = _DeviceCaches(self)
        self._dispatch = None  # the object that launches in C; None before the first launch
        self._tuners = weakref.WeakSet()  # autotuners that launch the kernel in C
        self.kernel, self.debug, self.noinline = None, debug, noinline
        self.arg_names = [p.name for p in self.params]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.pre_run_hooks = []

    def is_gluon(self):
        return False

    def create_binder(self):
        from ..compiler.compiler import ASTSource, CompiledKernel, compile_for_launch, make_backend
        target = driver.active.get_current_target()
        backend = make_backend(target)
        self.CompiledKernel, self.compile, self.ASTSource = CompiledKernel, compile_for_launch, ASTSource
        return _Kernels(self), {}, target, backend, create_function_from_signature(self.signature, self.params, backend)

    def add_pre_run_hook(self, hook):
        """Makes each launch call hook(*args, **kwargs) first."""
        assert callable(hook)
        self.pre_run_hooks.append(hook)

    def repr(self, _):
        return self._fn_name if self._repr is None else self._repr(_)

    def _call_hook(self, hook, key, signature, device, constants, options, configs, is_warmup):
        if not hook:
            return None
        name = self.fn.__qualname__
        arguments = ", ".join(f"{p.name}: {ty}" for p, ty in zip(self.params, signature.values()))
        text = (f"{name}[num_warps={options.num_warps}, num_ctas={options.num_ctas}, num_stages={options.num_stages}, "
                f"enable_fp_fusion={options.enable_fp_fusion}, launch_cooperative_grid={options.launch_cooperative_grid}]"
                f"({arguments})")
        data = serialize_specialization_data(get_full_name(self.fn), signature, constants, configs[0], options, key)
        compiled = {"signature": signature, "device": device, "constants": constants, "num_warps": options.num_warps,
                    "num_ctas": options.num_ctas, "num_stages": options.num_stages, "enable_fp_fusion": options.enable_fp_fusion,
                    "launch_cooperative_grid": options.launch_cooperative_grid, "extern_libs": options.extern_libs,
                    "configs": configs, "specialization_data": data, "is_warmup": is_warmup}
        return hook(key=key, repr=text, fn=JitFunctionInfo(self.fn.__module__, name, self), compile={"key": key, **compiled},
                    is_manual_warmup=is_warmup, already_compiled=False)

    def _pack_args(self, backend, kwargs, bound_args, specialization, options):
        """Returns (options, types by name, constants by path, promises by path) of a new specialization."""
        names = list(bound_args)
        for k in options:
            if k not in backend.option_names:
                raise KeyError(f"Keyword argument {k} was specified but unrecognised")
        parsed = backend.parse_options(kwargs)
        kinds = [kind for kind, _ in specialization]
        values = list(bound_args.values())
        constants = {path: get_iterable_path(values, path) for path in find_paths_if(kinds, lambda _, x: x == "constexpr")}
        promises = [promise for _, promise in specialization]
        attrs = {path: backend.parse_attr(get_iterable_path(promises, path))
                 for path in find_paths_if(promises, lambda _, x: isinstance(x, str)) if get_iterable_path(kinds, path) != "constexpr"}
        return parsed, dict(zip(names, kinds)), constants, attrs

    _at = KernelInterface.__getitem__  # kernel[grid] before the first launch

    def run(self, *args, grid, warmup, **kwargs):
        """Launches the kernel, or with `warmup` only compiles it. Returns the compiled kernel."""
        if self._dispatch is not None and not warmup:
            return self._dispatch.at(grid)(*args, **kwargs)
        kernel = self._run(args, kwargs, grid, warmup)
        if kernel is not None and not warmup and self._dispatch is None:
            self._dispatch = make_dispatch(self)
        return kernel

    def __getstate__(self):
        return {**self.__dict__, "device_caches": None, "_dispatch": None, "_tuners": None, "_hash_lock": None}

    def __setstate__(self, state):
        self.__dict__.update(state, device_caches=_DeviceCaches(self), _tuners=weakref.WeakSet(), _hash_lock=threading.RLock())

    def forget(self):
        if self._dispatch is not None:
            self._dispatch.clear()
        for tuner in list(self._tuners):
            tuner.forget()

    def _run(self, args, kwargs, grid, warmup):
        given, kwargs = kwargs, dict(kwargs)
        kwargs["debug"] = kwargs.get("debug", self.debug) or knobs.runtime.debug
        device = driver.active.get_current_device()
        stream = driver.active.get_current_stream(device)
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        kernels, keys, target, backend, binder = self.device_caches[device]
        bound_args, specialization, options = binder(*args, **kwargs)
        key = compute_cache_key(keys, specialization, options)
        kernel = kernels.get(key)
        if kernel is None:
            options, signature, constants, attrs = self._pack_args(backend, kwargs, bound_args, specialization, options)
            kernel = self._compile_or_refuse(kernels, key, signature, device, constants, options, attrs, warmup)
            if kernel is None:
                return None
        self.check_globals()
        if isinstance(kernel, fallback.Refused):
            from neso import original
            return original.launch(self, args, given, grid, warmup)
        if warmup:
            return kernel
        if check.is_on():
            check.launch(self, args, given, grid, bound_args.values(), lambda: self.launch(kernel, grid, stream, bound_args))
        else:
            self.launch(kernel, grid, stream, bound_args)
        return kernel

    def _compile_or_refuse(self, kernels, key, *args):
        """Returns the compiled kernel; a Refused with NESO_FALLBACK=triton if neso cannot compile it."""
        try:
            return self._do_compile(key, *args)
        except Exception as e:
            if not fallback.is_on() or not fallback.is_refusal(e):
                raise
            kernels[key] = found = fallback.Refused(self, e)
            return found

    def check_globals(self):
        """Raises an error if a global has changed since the kernel was compiled, because the kernel contains the old value."""
        missing = object()
        for (name, _), (value, scope) in self.used_global_vals.items():
            now = scope.get(name, missing)
            if now is not value and not _same(now, value):
                raise RuntimeError(f"Global variable {name} has changed since we compiled this kernel, from {value} to {now}")

    def launch(self, kernel, grid, stream, bound_args):
        assert grid is not None
        if callable(grid):
            grid = grid(bound_args)
        grid = tuple(grid) if not isinstance(grid, int) else (grid,)
        grid += (1, 1)
        if isinstance(kernel, _async_compile.FutureKernel):
            kernel = kernel.result()
        values = bound_args.values()
        check_tensors(values, self.device or driver.active.where)
        kernel.run(grid[0], grid[1], grid[2], stream, kernel.function, kernel.packed_metadata,
                   kernel.launch_metadata(grid[:3], stream, *values), knobs.runtime.launch_enter_hook,
                   knobs.runtime.launch_exit_hook, *values)

    def _do_compile(self, key, signature, device, constexprs, options, attrs, warmup):
        kernels, _, target, backend, _ = self.device_caches[device]
        if self._call_hook(knobs.runtime.jit_cache_hook, key, signature, device, constexprs, options, [attrs], warmup):
            return None
        src = self.ASTSource(self, signature, constexprs, attrs)

        def finish(kernel):
            kernels[key] = kernel
            self._call_hook(knobs.runtime.jit_post_compile_hook, key, signature, device, constexprs, options, [attrs], warmup)

        mode = _async_compile.active_mode.get()
        if mode is not None:
            compiling = (lambda: self.compile(src, target=target, options=options.__dict__))
            return mode.submit(get_cache_key(src, backend, options, {}), compiling, finish)
        kernel = self.compile(src, target=target, options=options.__dict__)
        finish(kernel)
        return kernel

    def preload(self, specialization_data):
        """Compiles the specialization that serialize_specialization_data wrote."""
        from ..language import core
        device = driver.active.get_current_device()
        data = json.loads(specialization_data)
        if data["name"] != self._fn_name:
            raise RuntimeError(f"Specialization data is for {data['name']} but trying to preload for {self._fn_name}")

        def constant(x):
            if isinstance(x, str) and core.dtype.is_dtype(x):
                return core.dtype(x)
            return core.constexpr(x["constexpr"]) if isinstance(x, dict) and "constexpr" in x else x

        constants = {tuple(k): constant(x) for k, x in zip(data["constant_keys"], data["constant_vals"])}
        attrs = {tuple(k): x for k, x in zip(data["attrs_keys"], data["attrs_vals"])}
        signature = {k: _tuples(x) for k, x in data["signature"].items()}
        backend = self.device_caches[device][3]
        options = backend.parse_options({k: _tuples(x) for k, x in data["options"].items()})
        return self._do_compile(data["key"], signature, device, constants, options, attrs, warmup=True)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self):
        return f"JITFunction({self.module}:{self.fn.__qualname__})"


_run = JITFunction.run  # a program may replace the method; kernel[grid] calls the replacement


# -- launches in C (neso/extension) --

NO_DEFAULT = None if launches.extension is None else launches.extension.Dispatch  # marks a parameter that a call must give
IS_TUNED = 8  # a flag of a parameter, see neso/extension/key.h


def flags_of(fn):
    return [p.is_constexpr + 2 * bool(p.do_not_specialize) + 4 * bool(p.do_not_specialize_on_alignment) for p in fn.params]


def defaults_of(fn):
    return [p.default if p.has_default else NO_DEFAULT for p in fn.params]


def make_dispatch(fn):
    """Returns the object that launches a kernel in C; None without the extension, torch or a GPU."""
    active = driver.active
    if launches.extension is None or check.is_on() or active.where != "cuda" or active.torch is None or fn.device or len(fn.params) > 64:
        return None
    return dispatch_of(fn, defaults_of(fn), flags_of(fn), lambda grid, args, kwargs: fn._run(args, kwargs or {}, grid, False),
                       lambda kernel, args, kwargs: remember(fn, kernel, args, kwargs or {}), _run)


def dispatch_of(fn, defaults, flags, slow, remember, run):
    """Returns a Dispatch for calls with the parameters of fn. `slow` makes a call that the Dispatch does not know. `remember` returns the data with
    which the Dispatch launches such a call in C from then on. `run` is the method that kernel[grid](...) calls unless a program has replaced it."""
    active, runtime = driver.active, knobs.runtime
    watched = (fn.pre_run_hooks, runtime.launch_enter_hook.calls, runtime.launch_exit_hook.calls, knobs._replaced)
    names = tuple(sys.intern(p.name) for p in fn.params)
    environ = getattr(os.environ, "_data", None)
    if not isinstance(environ, dict) or not hasattr(os.environ, "encodekey"):
        environ = None
    debug = os.environ.encodekey("TRITON_DEBUG") if environ is not None else None
    return launches.extension.Dispatch(names, tuple(defaults), bytes(flags), slow, remember, launches.fail, active.torch._C._cuda_getDevice,
                                       active.get_current_stream, watched, environ, debug, run, *torch_calls.direct(active.torch))


def remember(fn, kernel, args, kwargs):
    """Returns (address of neso_launch, address of the kernel, its plan, globals, types of arrays); None if only Python can launch the kernel."""
    launcher = kernel._here.launcher if hasattr(kernel, "_here") else None
    if launcher is None or launcher.places is None:
        return None
    globals_ = []
    for (name, _), (value, scope) in fn.used_global_vals.items():
        now = scope.get(name)
        if not _never_changes(now) or not _same(now, value):
            return None
        globals_.append((scope, name, now))
    types = {type(x) for x in _arrays([*args, *kwargs.values()]) if hasattr(x, "is_cuda")}
    return (*launcher.addresses, launcher.places, tuple(globals_), tuple(types))


def _arrays(xs):
    """Yields the arrays among the arguments, also those in tuples and descriptors."""
    for x in xs:
        if isinstance(x, tuple):
            yield from _arrays(x)
        elif hasattr(x, "block_shape"):
            yield x.base
        elif hasattr(x, "data_ptr"):
            yield x


def _never_changes(x):
    from ..language.core import constexpr, dtype
    if isinstance(x, constexpr):
        x = x.value
    return isinstance(x, (int, float, str, dtype, type(None))) or isinstance(x, tuple) and all(map(_never_changes, x))


def _tuples(x):
    return tuple(_tuples(y) for y in x) if isinstance(x, list) else x


def serialize_specialization_data(name, signature, constants, attrs, options, key):
    def plain(x):
        if type(x).__name__ == "dtype":
            return str(x)
        return {"constexpr": x.value} if type(x).__name__ == "constexpr" else x

    return json.dumps({"name": name, "signature": signature, "constant_keys": [list(k) for k in constants],
                       "constant_vals": [plain(x) for x in constants.values()], "attrs_keys": [list(k) for k in attrs],
                       "attrs_vals": list(attrs.values()), "options": options.__dict__, "key": key}, default=str)


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None, do_not_specialize_on_alignment=None,
        debug=None, noinline=None):
    """Turns a Python function into a kernel, or into a function that kernels call."""

    def decorate(fn):
        assert callable(fn)
        kind = JITFunction
        if knobs.runtime.interpret:
            from .interpreter import InterpretedFunction as kind
        return kind(fn, version=version, do_not_specialize=do_not_specialize,
                    do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug, noinline=noinline, repr=repr,
                    launch_metadata=launch_metadata)

    return decorate if fn is None else decorate(fn)


def get_jit_fn_file_line(fn):
    while not isinstance(fn, JITCallable):
        fn = fn.fn
    before = next((i for i, line in enumerate(fn.raw_src) if line.strip().startswith("def ")), 0)
    return fn.fn.__code__.co_filename, fn.starting_line_number + before


# -- objects in place of tensors --

class MockTensor:
    """A tensor that has only a type: kernel.warmup(MockTensor(torch.float32), ...)."""

    @staticmethod
    def wrap_dtype(arg):
        kind = type(arg)
        return MockTensor(arg) if kind.__name__ == "dtype" and kind.__module__ == "torch" else arg

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, [1] if shape is None else shape

    def stride(self):
        strides = [1]
        for size in self.shape[1:]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class TensorWrapper:
    """A tensor whose elements are interpreted as another type."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.data, self.device, self.shape = base.data, base.device, base.shape

    def data_ptr(self):
        return self.base.data_ptr()

    def stride(self, *args):
        return self.base.stride(*args)

    def element_size(self):
        return self.base.element_size()

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def copy_(self, other):
        self.base.copy_(other.base)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    if isinstance(tensor, TensorWrapper):
        return tensor.base if dtype == tensor.base.dtype else TensorWrapper(tensor.base, dtype)
    if hasattr(tensor, "data_ptr"):
        return TensorWrapper(tensor, dtype)
    raise TypeError(f"Cannot reinterpret a {type(tensor)}.")


# -- functions of constants --

class BoundConstexprFunction(JITCallable):
    def __init__(self, instance, fn):
        self.__self__, self.__func__ = instance, fn

    @property
    def cache_key(self):
        return self.__func__.cache_key

    def __call__(self, *args, **kwargs):
        return self.__func__(self.__self__, *args, **kwargs)


class ConstexprFunction(*_FOLDED, JITCallable):
    """A Python function that kernels call on constants, while they are compiled."""

    def __get__(self, obj, objclass):
        return self if obj is None else BoundConstexprFunction(obj, self)

    def _call(self, *args, _semantic=None, **kwargs):
        from ..language.core import _unwrap_if_constexpr
        return self.fn(*map(_unwrap_if_constexpr, args), **{k: _unwrap_if_constexpr(x) for k, x in kwargs.items()})

    if not _FOLDED:
        __call__ = _call


def constexpr_function(fn):
    return ConstexprFunction(fn)


