# SPDX-License-Identifier: MIT
"""triton.knobs in neso: settings. A setting has the value of its environment variable unless a program sets it."""
import contextlib
import dataclasses
import importlib
import os
import re
import shutil
import subprocess
import sys

_UNSET = object()


propagate_env = True


class Env:
    """The type of `env`. If a program sets a setting to `env`, the setting has the value of its environment variable
    again."""


env = Env()


class _Env:
    """A setting: the value that a program has set, else the environment variable, else a default."""

    def __init__(self, variable, default=None, read=str):
        self.variable, self.default, self.read = variable, default, read
        self.key = variable

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, kind=None):
        if obj is None:
            return self
        value = obj.__dict__.get(self.name, _UNSET)
        if value is not _UNSET:
            return value
        text = os.environ.get(self.variable)
        if text is None or text == "" and self.read is not _flag:
            return self.default(obj) if callable(self.default) else self.default
        return self.read(text)

    def __set__(self, obj, value):
        """Also sets the environment variable, for child processes."""
        if value is env:
            self.__delete__(obj)
            return
        obj.__dict__[self.name] = value
        text = str(int(value)) if isinstance(value, bool) else value
        if propagate_env and isinstance(text, (str, int)):
            os.environ[self.key] = str(text)
        elif propagate_env and value is None:
            os.environ.pop(self.key, None)

    def __delete__(self, obj):
        obj.__dict__.pop(self.name, None)


def _flag(text):
    return text.lower() in ("1", "true", "yes", "on", "y")


def _bool(variable, default=False):
    return _Env(variable, default, _flag)


def _class_of(text):
    """Returns the class that "module:name" names."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


# the kinds of settings, for programs that define their own
env_base = env_str = env_str_callable_default = env_opt_str = _Env
env_bool = _bool


def env_int(variable, default=0):
    return _Env(variable, default, int)


def env_opt_bool(variable, default=None):
    return _Env(variable, default, _flag)


def env_class(variable, kind=None):
    return _Env(variable, None, _class_of)


class base_knobs:
    @property
    def knob_descriptors(self):
        return {name: x for kind in type(self).__mro__ for name, x in vars(kind).items() if isinstance(x, _Env)}

    @property
    def knobs(self):
        return {name: getattr(self, name) for name, x in self.knob_descriptors.items() if not isinstance(x, _Tool)}

    def copy(self):
        new = type(self)()
        new.__dict__.update(self.__dict__)
        return new

    def reset(self):
        self.__dict__.clear()
        return self

    @contextlib.contextmanager
    def scope(self):
        """Restores all settings at the end of the block."""
        before = dict(self.__dict__)
        environment = {x.key: os.environ.get(x.key) for x in self.knob_descriptors.values()}
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)
            for key, text in environment.items():
                os.environ.pop(key, None)
                if text is not None:
                    os.environ[key] = text


class HookChain:
    """Functions that are called in order, or in reverse."""

    def __init__(self, reversed=False):
        self.calls, self.reversed = [], reversed

    def add(self, func):
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func):
        if func in self.calls:
            self.calls.remove(func)

    def __call__(self, *args, **kwargs):
        for call in self.calls[::-1] if self.reversed else list(self.calls):
            call(*args, **kwargs)


class build_knobs(base_knobs):
    cc = _Env("CC")
    cudacrt_path = _Env("TRITON_CUDACRT_PATH")
    cudart_path = _Env("TRITON_CUDART_PATH")
    impl = None

    @property
    def backend_dirs(self):
        return {x for x in (self.cudacrt_path, self.cudart_path) if x is not None}


class redis_knobs(base_knobs):
    key_format = _Env("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = _Env("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


class cache_knobs(base_knobs):
    home_dir = _Env("TRITON_HOME", os.path.expanduser("~/"))
    dir = _Env("TRITON_CACHE_DIR", lambda knobs: knobs.get_triton_dir("cache"))
    dump_dir = _Env("TRITON_DUMP_DIR", lambda knobs: knobs.get_triton_dir("dump"))
    override_dir = _Env("TRITON_OVERRIDE_DIR", lambda knobs: knobs.get_triton_dir("override"))
    manager_class = env_class("TRITON_CACHE_MANAGER")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND")

    def get_triton_dir(self, name):
        return os.path.join(self.home_dir, ".triton", name)


@dataclasses.dataclass(frozen=True)
class CompileTimes:
    """The times that neso took to compile a kernel, in microseconds, as compilation.listener gets them."""
    ir_initialization: int  # the time until the kernel was traced to neso's IR
    lowering_stages: list   # (stage, time) for optimization and for the PTX; empty if the cache had the PTX
    store_results: int      # the time to write to caches, and to assemble

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results


class compilation_knobs(base_knobs):
    override = _bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = _bool("TRITON_KERNEL_DUMP")
    store_binary_only = _bool("TRITON_STORE_BINARY_ONLY")
    always_compile = _bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = _Env("USE_IR_LOC")
    enable_asan = _bool("TRITON_ENABLE_ASAN")
    disable_line_info = _bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = _bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = _bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode = _Env("TRITON_INSTRUMENTATION_MODE", "")
    listener = None  # called for each compilation with (source, metadata, metadata_group, CompileTimes, whether the cache had the PTX)


class autotuning_knobs(base_knobs):
    cache = _bool("TRITON_CACHE_AUTOTUNING")
    print = _bool("TRITON_PRINT_AUTOTUNING")


_ASKED_AT_LAUNCHES = ("launch_enter_hook", "launch_exit_hook", "debug", "interpret")
_replaced = []  # names of the hooks that a program has replaced; if there are any, no launch is made in C


class runtime_knobs(base_knobs):
    interpret = _bool("TRITON_INTERPRET")
    debug = _bool("TRITON_DEBUG")
    sanitize_overflow = _bool("TRITON_SANITIZE_OVERFLOW")
    override_arch = _Env("TRITON_OVERRIDE_ARCH")
    launch_enter_hook = HookChain()
    launch_exit_hook = HookChain(reversed=True)
    kernel_load_start_hook = HookChain()
    kernel_load_end_hook = HookChain(reversed=True)
    jit_cache_hook = None
    jit_post_compile_hook = None
    add_stages_inspection_hook = None

    def __setattr__(self, name, value):
        if name in _ASKED_AT_LAUNCHES:
            _replaced.append(name)
        super().__setattr__(name, value)


def is_empty(hook):
    """Does the hook call no function?"""
    return hook is None or isinstance(hook, HookChain) and not hook.calls


class language_knobs(base_knobs):
    fp32_default = _Env("TRITON_F32_DEFAULT")
    default_fp_fusion = _bool("TRITON_DEFAULT_FP_FUSION", True)


class NvidiaTool:
    """A program of NVIDIA's toolkit: its path and version."""

    def __init__(self, path, version):
        self.path, self.version = path, version

    @staticmethod
    def from_path(path):
        try:
            text = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT).decode()
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, found.group(1)) if found else None


class _Tool(_Env):
    """The path of a tool: from its variable, on the PATH, in /usr/local/cuda, or in the original Triton. neso itself needs no tool."""

    def __get__(self, obj, kind=None):
        found = super().__get__(obj, kind)
        if obj is None or isinstance(found, NvidiaTool):
            return found
        brought = [os.path.join(p, "triton", "backends", "nvidia", "bin", self.name) for p in sys.path]
        for path in (found, shutil.which(self.name), os.path.join("/usr/local/cuda/bin", self.name), *filter(os.path.exists, brought)):
            tool = NvidiaTool.from_path(path) if path else None
            if tool:
                obj.__dict__[self.name] = tool
                return tool
        raise RuntimeError(f"Cannot find {self.name}: set {self.variable}")


class nvidia_knobs(base_knobs):
    ptxas = _Tool("TRITON_PTXAS_PATH")
    cuobjdump = _Tool("TRITON_CUOBJDUMP_PATH")
    nvdisasm = _Tool("TRITON_NVDISASM_PATH")
    ptxas_path = _Env("TRITON_PTXAS_PATH")
    libdevice_path = _Env("TRITON_LIBDEVICE_PATH")
    libcuda_path = _Env("TRITON_LIBCUDA_PATH")
    disable_ptxas_opt = _bool("DISABLE_PTXAS_OPT")
    ptxas_options = _Env("PTXAS_OPTIONS")
    dump_nvptx = _bool("NVPTX_ENABLE_DUMP")
    dump_ptxas_log = _bool("TRITON_DUMP_PTXAS_LOG")
    mock_ptx_version = _Env("TRITON_MOCK_PTX_VERSION")


class amd_knobs(base_knobs):
    """Has no effect; programs set it for other GPUs."""
    use_buffer_ops = _bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = _bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = _bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = _bool("AMDGCN_ENABLE_DUMP")
    libhip_path = _Env("TRITON_LIBHIP_PATH")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = _bool("TRITON_HIP_USE_ASYNC_COPY")
    scalarize_packed_fops = _bool("AMDGCN_SCALARIZE_PACKED_FOPS")


class proton_knobs(base_knobs):
    disable = _bool("TRITON_PROTON_DISABLE")
    enable_nvtx = _bool("TRITON_ENABLE_NVTX", True)


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()


def refresh_knobs():
    """Does nothing: settings read the environment each time."""
