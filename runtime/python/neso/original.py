# SPDX-License-Identifier: MIT
"""original.py: runs the installed original Triton in a process that uses neso, for kernels that neso refuses (NESO_FALLBACK=triton) and to
compare launches (python -m neso --check).

Both packages have the name `triton`, so the original's modules replace neso's in sys.modules while the original runs. original.py makes a copy
of a kernel for the original. The copy has the same code, but in its globals the original's objects replace neso's objects of the same name.
"""
import contextlib
import functools
import importlib
import os
import sys
import threading
import types

from . import door

_lock = threading.RLock()
_modules = {}  # the original's modules, while they are not in sys.modules
_made = {}     # maps the id of an object of neso to (the object, the original's object)


class NotInstalled(ImportError):
    pass


def _ours(name):
    return name == "triton" or name.startswith("triton.")


@contextlib.contextmanager
def working():
    """A block in which `import triton` finds the original."""
    with _lock:
        mine = {name: sys.modules.pop(name) for name in list(sys.modules) if _ours(name)}
        places = [p for p in sys.path if p == door.INSTEAD]
        sys.path[:] = [p for p in sys.path if p != door.INSTEAD]
        sys.modules.update(_modules)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            _modules.update({name: sys.modules.pop(name) for name in list(sys.modules) if _ours(name)})
            sys.modules.update(mine)
            sys.path[:0] = places[:1]


@functools.lru_cache(None)
def triton():
    """Imports and returns the original package."""
    from . import contexts
    with working():
        if contexts.choice() != "cuda":
            os.environ["TRITON_INTERPRET"] = "1"
        try:
            found = importlib.import_module("triton")
            for name in ("language", "language.extra.libdevice", "tools.tensor_descriptor", "runtime.jit", "compiler", "backends.compiler"):
                importlib.import_module("triton." + name)
            return found
        except ImportError as e:
            raise NotInstalled(f"the original Triton is not installed here, which NESO_FALLBACK=triton and --check need: {e}") from e


def _module(name):
    with working():
        return importlib.import_module(name)


# -- converting neso's objects to the original's --

def translated(x):
    """Returns the original's object that corresponds to x: a kernel, type, constant or descriptor. Other objects stay the same."""
    from triton.language import core
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import ConstexprFunction, JITFunction
    if isinstance(x, (Autotuner, Heuristics)):
        return translated(x.fn)
    if isinstance(x, (JITFunction, ConstexprFunction)):
        return _kept(x, _function)
    if isinstance(x, core.constexpr):
        return triton().language.constexpr(translated(x.value))
    if isinstance(x, core.dtype):
        return _dtype(x)
    if isinstance(x, types.ModuleType):
        return _kept(x, _module_of)
    if isinstance(x, tuple):
        parts = [translated(y) for y in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return _named(x)


def _kept(x, make):
    if id(x) not in _made:
        _made[id(x)] = (x, make(x))
    return _made[id(x)][1]


def _named(x):
    """If x is a function or class of neso, returns the original's function or class with the same name."""
    module, name = getattr(x, "__module__", None), getattr(x, "__name__", None)
    if type(x).__name__ == "TensorDescriptor" and _ours(type(x).__module__):
        kind = _module("triton.tools.tensor_descriptor").TensorDescriptor
        return kind(x.base, x.shape, x.strides, x.block_shape, x.padding)
    if not isinstance(module, str) or not isinstance(name, str) or not _ours(module):
        return x
    for place in (module, "triton.language", "triton"):
        try:
            found = getattr(_module(place), name, None)
        except ImportError:
            found = None
        if found is not None:
            return found
    return x


def _dtype(x):
    core = triton().language
    if x.is_ptr():
        return core.pointer_type(_dtype(x.element_ty), x.address_space)
    return core.dtype(x.name)


class _Members(types.ModuleType):
    """A module of the user. Converts a member when it is read."""

    def __init__(self, module):
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name):
        return translated(getattr(self.__dict__["_module"], name))


def _module_of(x):
    if _ours(x.__name__):
        try:
            return _module(x.__name__)
        except ImportError:
            return x
    has_kernels = any(_ours(type(y).__module__) or _ours(getattr(y, "__module__", None) or "") for y in list(vars(x).values()))
    return _Members(x) if has_kernels else x


def _function(x):
    """Makes a jit function of the original from a jit function of neso."""
    from triton.runtime.jit import JITFunction
    scope = dict(x.fn.__globals__)
    names = _all_names(x.fn.__code__) | {k for k, y in scope.items() if isinstance(y, types.ModuleType) and _ours(y.__name__)}
    found = types.FunctionType(x.fn.__code__, scope, x.fn.__name__, x.fn.__defaults__, _closure(x.fn))
    found.__kwdefaults__, found.__annotations__ = x.fn.__kwdefaults__, {k: _named(a) for k, a in x.fn.__annotations__.items()}
    found.__module__, found.__qualname__ = x.fn.__module__, x.fn.__qualname__
    with working():
        if isinstance(x, JITFunction):
            made = triton().jit(found, do_not_specialize=x.do_not_specialize, debug=x.debug, noinline=x.noinline,
                                do_not_specialize_on_alignment=x.do_not_specialize_on_alignment)
        else:
            made = triton().constexpr_function(found)
    _made[id(x)] = (x, made)  # before converting its globals, because the function may call itself
    for name in names & scope.keys():
        scope[name] = translated(scope[name])
    return made


def _all_names(code):
    """Returns the names that the code and its nested functions read. Omits names in annotations, which Python evaluates at the
    definition."""
    found = set(code.co_names)
    for x in code.co_consts:
        if isinstance(x, types.CodeType):
            found |= _all_names(x)
    return found


def _closure(fn):
    return tuple(types.CellType(translated(c.cell_contents)) for c in fn.__closure__) if fn.__closure__ else None


# -- launches --

def launch(fn, args, kwargs, grid, warmup=False):
    """Calls fn[grid](*args, **kwargs) with the original."""
    kernel = translated(fn)
    args, kwargs = [translated(x) for x in args], {k: translated(x) for k, x in kwargs.items()}
    with working():
        return kernel.run(*args, grid=grid, warmup=warmup, **kwargs)


def compile(src, target, options):
    """Calls triton.compile of the original, for callers that need a compiled kernel (Inductor)."""
    fn = translated(src.fn)
    constants = {k: translated(x) for k, x in src.constants.items()}
    with working():
        compiler = _module("triton.compiler")
        source = compiler.ASTSource(fn, src.signature, constants, src.attrs)
        gpu = _module("triton.backends.compiler").GPUTarget(target.backend, target.arch, target.warp_size)
        return compiler.compile(source, target=gpu, options=options)
