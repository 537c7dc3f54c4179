# SPDX-License-Identifier: MIT
"""triton.runtime.autotuner in neso: chooses configurations by timing them, and computes parameters from others."""
import functools
import hashlib
import inspect
import json
import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from .. import knobs
from . import _async_compile
from .cache import get_cache_manager, triton_key
from .driver import driver
from .errors import AutotunerError, OutOfResources, PTXASError
from .jit import INDEXED, IS_TUNED, JITFunction, KernelInterface, defaults_of, dispatch_of, flags_of, remember


@functools.lru_cache(None)
def dtype_name(dtype):
    return str(dtype)


def jit_function_of(fn):
    while not isinstance(fn, JITFunction):
        fn = fn.fn
    return fn


_OPTIONS = "num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override"
_NO_ARRAYS = frozenset((int, float, bool, str, type(None), tuple, list))


class Config:
    """Values of parameters, and options of the launch, for an autotuner to try."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps, self.num_ctas, self.num_stages = num_warps, num_ctas, num_stages
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override

    def __setstate__(self, state):
        self.__init__(state.get("kwargs", {}), **{k: x for k, x in state.items() if k != "kwargs"})

    def all_kwargs(self):
        found = dict(self.kwargs)
        for name in _OPTIONS:
            value = getattr(self, name)
            if value is not None:
                found[name] = value
        return found

    def __str__(self):
        shown = {**self.kwargs, "num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages,
                 "maxnreg": self.maxnreg}
        return ", ".join(f"{k}: {x}" for k, x in shown.items())

    def _parts(self):
        return (*self.all_kwargs().items(), self.pre_hook)

    def __hash__(self):
        return hash(self._parts())

    def __eq__(self, other):
        return isinstance(other, Config) and self._parts() == other._parts()


class _Choices(dict):
    """An autotuner's choices by their keys. A change of a choice also changes the kernel that is launched in C."""

    def __init__(self, tuner):
        super().__init__()
        self.tuner = tuner

    def _then_forget(method):
        @functools.wraps(method)
        def wrapper(self, *args, **kwargs):
            self.tuner.forget()
            return method(self, *args, **kwargs)

        return wrapper

    __setitem__, __delitem__, __ior__, clear = map(_then_forget, (dict.__setitem__, dict.__delitem__, dict.__ior__, dict.clear))
    pop, popitem, setdefault, update = map(_then_forget, (dict.pop, dict.popitem, dict.setdefault, dict.update))
    del _then_forget

    def __reduce__(self):
        return dict, (dict(self),)


class Autotuner(*INDEXED, KernelInterface):
    _at = KernelInterface.__getitem__  # kernel[grid] before the first launch

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None,
                 prune_configs_by=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
        self._dispatch = None  # the object that launches already tuned calls in C; False: C cannot launch them
        self.configs = configs or [Config({}, num_warps=4, num_stages=3, num_ctas=1)]
        self.fn, self.arg_names, self.keys = fn, arg_names, key
        self._names = frozenset(arg_names)
        self.cache = _Choices(self)
        self.cache_results = (cache_results or knobs.autotuning.cache) and not knobs.runtime.interpret
        self.reset_to_zero, self.restore_value = list(reset_to_zero or []), list(restore_value or [])
        self.user_defined_pre_hook, self.user_defined_post_hook = bool(pre_hook), bool(post_hook)
        self.pre_hook = pre_hook or (self._prepare if self.reset_to_zero or self.restore_value else lambda kwargs, reset_only=False: 0)
        self.post_hook = post_hook or (self._restore if self.restore_value else lambda kwargs, exception: 0)
        prune = prune_configs_by or {}
        self.perf_model, self.early_config_prune = prune.get("perf_model"), prune.get("early_config_prune")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self._do_bench = do_bench
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        if warmup is not None or rep is not None or use_cuda_graph:
            self._bench_as_before(warmup, rep)

    def _bench_as_before(self, warmup, rep):
        warnings.warn("warmup, rep, and use_cuda_graph parameters are deprecated. See "
                      "https://github.com/triton-lang/triton/pull/4496 for details.", DeprecationWarning, stacklevel=1)
        from .. import testing
        rep = 100 if rep is None else rep
        if self.use_cuda_graph:
            self._do_bench = lambda call, quantiles: testing.do_bench_cudagraph(call, rep=rep, quantiles=quantiles)
        else:
            self._do_bench = lambda call, quantiles: testing.do_bench(call, warmup=25 if warmup is None else warmup, rep=rep,
                                                                      quantiles=quantiles)

    # These functions reset the tensors that a kernel changes, so that each trial begins with the same contents.

    def _prepare(self, kwargs, reset_only=False):
        for name in self.reset_to_zero:
            if kwargs[name] is not None:
                kwargs[name].zero_()
        if not reset_only:
            self.restore_copies = {name: kwargs[name].clone() for name in self.restore_value if kwargs[name] is not None}

    def _restore(self, kwargs, exception):
        for name, copy in self.restore_copies.items():
            kwargs[name].copy_(copy)
        self.restore_copies = {}

    @cached_property
    def do_bench(self):
        return driver.active.get_benchmarker() if self._do_bench is None else self._do_bench

    def _bench(self, *args, config, **meta):
        from ..compiler.errors import CompileTimeAssertionFailure
        if knobs.autotuning.print:
            print(f"Autotuning kernel {self.base_fn.__name__} with config {config}")
        conflicts = meta.keys() & config.kwargs.keys()
        if conflicts:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(conflicts)}. "
                             "Make sure that you don't re-define auto-tuned symbols.")
        current = dict(meta, **config.all_kwargs())
        named = {**self.nargs, **current}

        def call():
            if config.pre_hook:
                config.pre_hook(named)
            self.pre_hook(named)
            try:
                self.fn.run(*args, **current)
            except Exception as e:
                self.post_hook(named, exception=e)
                raise
            self.post_hook(named, exception=None)

        try:
            return self.do_bench(call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileTimeAssertionFailure, PTXASError) as e:
            if knobs.autotuning.print:
                print(f"Autotuning failed with {e}")
            return [float("inf")] * 3

    def _disk_key(self, key, configs):
        from ..compiler import make_backend
        fn = jit_function_of(self.fn)
        parts = [triton_key(), make_backend(driver.active.get_current_target()).hash(), fn.cache_key, str(key)] + [str(c) for c in configs]
        return fn, hashlib.sha256("-".join(parts).encode()).hexdigest()

    def check_disk_cache(self, tuning_key, configs, bench_fn):
        """Returns True if it has found the times that an earlier process measured, and uses them."""
        if not tuning_key or any(c.pre_hook for c in configs):
            bench_fn()
            return False
        fn, digest = self._disk_key(tuning_key, configs)
        manager, name = get_cache_manager(digest), f"{fn.__name__[:150]}.autotune.json"
        path = manager.get_file(name)
        if path:
            with open(path) as f:
                timings = {Config(**c): t for c, t in json.load(f)["configs_timings"]}
            self.cache[tuning_key] = min(timings, key=timings.get)
            self.configs_timings = timings
            return True
        bench_fn()
        manager.put(json.dumps({"key": tuning_key, "configs_timings": [(c.__dict__, t) for c, t in self.configs_timings.items()]}),
                    name, binary=False)
        return False

    def _key(self, args, kwargs):
        """Returns the values of the arguments named in `keys`, then the types of all arrays, in the order of the call."""
        names, count = self.arg_names, len(args)
        named = [(k, x) for k, x in kwargs.items() if k in self._names]
        key = []
        for k in self.keys:
            i = names.index(k) if k in self._names else count
            if k in kwargs and i < len(names):
                key.append(kwargs[k])
            elif i < count:
                key.append(args[i])
        for x in (*args, *(x for _, x in named)) if named else args:
            if type(x) not in _NO_ARRAYS and hasattr(x, "dtype"):
                key.append(dtype_name(x.dtype))
        return tuple(key)

    def _assemble_ahead(self, configs, args, kwargs):
        """Compiles all configurations, and assembles them with parallel ptxas processes, before the first one is timed. Without this step the
        driver assembles each configuration when it is timed.

        _bench reports the errors of configurations that do not compile. If a program has set hooks that observe compilations or change
        arguments, the function does nothing."""
        from neso import assembler, check, fallback
        fn = jit_function_of(self.fn)
        watched = (fn.pre_run_hooks, knobs.runtime.jit_cache_hook, knobs.runtime.jit_post_compile_hook, self.user_defined_pre_hook,
                   any(c.pre_hook for c in configs), check.is_on(), fallback.is_on(), _async_compile.active_mode.get())
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if driver.active.where != "cuda" or any(watched) or processors < 2 or assembler.choice() == "off" or not assembler.find():
            return
        kernels = []
        for config in configs:
            try:
                kernels.append(self.fn.run(*args, **{**kwargs, **config.all_kwargs(), "warmup": True}))
            except Exception:  # _bench reports the exception
                continue
        kernels = [k for k in kernels if k is not None and not k.is_loaded()]
        if len(kernels) > 1:
            with ThreadPoolExecutor(processors) as pool:
                list(pool.map(lambda kernel: kernel.assemble(), kernels))

    def _tune(self, key, args, kwargs):
        configs = self.prune_configs(kwargs)

        def benchmark():
            start = time.time()
            self._assemble_ahead(configs, args, kwargs)
            timings = {c: self._bench(*args, config=c, **kwargs) for c in configs}
            self.bench_time = time.time() - start
            self.cache[key] = min(timings, key=timings.get)
            self.pre_hook({**self.nargs, **kwargs, **self.cache[key].all_kwargs()}, reset_only=True)
            self.configs_timings = timings

        if self.cache_results:
            return self.check_disk_cache(key, configs, benchmark)
        benchmark()
        return False

    def run(self, *args, grid, warmup=False, **kwargs):
        config = self.configs[0]
        if len(self.configs) > 1:
            key = self._key(args, kwargs)
            config = self.cache.get(key) or self._choose(key, args, {"grid": grid, "warmup": warmup, **kwargs})
        self.best_config = config
        options = config.all_kwargs()
        if config.pre_hook is not None:
            config.pre_hook({**dict(zip(self.arg_names, args)), "grid": grid, "warmup": warmup, **kwargs, **options})
        if type(self.fn) is JITFunction and not warmup:
            kernel = self.fn[grid](*args, **kwargs, **options)
            if self._dispatch is None:
                self._dispatch = make_tuned(self)
            return kernel
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs, **options)

    def forget(self):
        if self.__dict__.get("_dispatch"):
            self._dispatch.clear()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in ("cache", "configs", "fn", "keys", "arg_names"):
            self.forget()

    def __getstate__(self):
        return {**self.__dict__, "_dispatch": None}

    def _choose(self, key, args, kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        known = self._tune(key, args, kwargs)
        config = self.cache[key]
        if not known and knobs.autotuning.print:
            print(f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                  f"finished after {self.bench_time:.2f}s,\nbest config selected: {config};")
        self.nargs = None
        return config

    def prune_configs(self, kwargs):
        configs = self.configs
        if self.early_config_prune:
            configs = self.early_config_prune(self.configs, self.nargs, **kwargs)
            if not configs:
                raise AutotunerError("No valid autotuner configs after pruning. `early_config_prune` should return at least one "
                                     "config.")
        if not self.perf_model:
            return configs
        most = self.configs_top_k
        if isinstance(most, float) and most <= 1.0:
            most = int(len(self.configs) * most)
        elif not isinstance(most, int):
            raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int")
        if len(configs) <= most:
            return configs
        return sorted(configs, key=lambda c: self.perf_model(**self.nargs, **kwargs, **c.all_kwargs()))[:most]

    def warmup(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        kernels = [self.fn.warmup(*args, **kwargs, **c.all_kwargs()) for c in self.prune_configs(kwargs)]
        self.nargs = None
        return kernels


# -- launches in C (neso/extension) --

_run = Autotuner.run


def make_tuned(tuner):
    """Returns the object that launches an autotuner's earlier choices in C; False if this is not possible."""
    fn = tuner.fn
    values = {name for c in tuner.configs for name in c.kwargs}
    names = [p.name for p in fn.params]
    if not fn._dispatch or any(not p.is_constexpr for p in fn.params if p.name in values):
        return False
    defaults = [... if name in values else x for name, x in zip(names, defaults_of(fn))]
    flags = [x | (IS_TUNED if p.name in tuner.keys and not p.is_constexpr else 0) for p, x in zip(fn.params, flags_of(fn))]

    def slow(grid, args, kwargs):
        return tuner.run(*args, grid=grid, warmup=False, **kwargs or {})

    def found(kernel, args, kwargs):
        kwargs, config = kwargs or {}, tuner.best_config
        how = remember(fn, kernel, args, {**kwargs, **config.all_kwargs()})
        if how is None or config.pre_hook is not None or tuner.fn is not fn:
            return None
        given = {*names[:len(args)], *kwargs}
        sets = {p.name: config.kwargs.get(p.name, p.default) for p in fn.params if p.name in values and p.name not in given}
        return (*how, (tuner, config, sets))

    fn._tuners.add(tuner)
    return dispatch_of(fn, defaults, flags, slow, found, _run)


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, warmup=None,
             rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """A decorator that finds the fastest of `configs` for each combination of values of the arguments named in `key`."""

    def decorate(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook, post_hook=post_hook,
                         prune_configs_by=prune_configs_by, warmup=warmup, rep=rep, use_cuda_graph=use_cuda_graph,
                         do_bench=do_bench, cache_results=cache_results)

    return decorate


class Heuristics(KernelInterface):
    def __init__(self, fn, arg_names, values):
        self.fn, self.arg_names, self.values = fn, arg_names, values

    def run(self, *args, grid, warmup=False, **kwargs):
        named = {**dict(zip(self.arg_names, args)), "grid": grid, "warmup": warmup, **kwargs}
        for name, compute in self.values.items():
            kwargs[name] = named[name] = compute(named)
        if type(self.fn) is JITFunction and not warmup:
            return self.fn[grid](*args, **kwargs)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values):
    """A decorator that computes parameters: `values` has, by name, functions of the launch's arguments."""
    return lambda fn: Heuristics(fn, fn.arg_names, values)
