# SPDX-License-Identifier: MIT
"""triton.compiler.compiler in neso: compiles a kernel for types into a CompiledKernel.

    ASTSource(fn, types, constants, promises) ─► source texts and a signature (Recipe) ─► PTX ─► code that the device has loaded

A CompiledKernel contains its Recipe. If another process unpickles the kernel, that process compiles it again, in milliseconds.
"""
import hashlib
import json
import os
import re
import time
import types
import warnings
from collections import namedtuple

from .. import __version__, knobs
from ..backends.compiler import GPUTarget
from ..backends.nvidia.compiler import CUDABackend, target_name
from ..runtime.cache import get_cache_key, get_cache_manager, triton_key  # noqa: F401  (torch imports triton_key too)
from ..runtime.driver import driver
from ..runtime.errors import OutOfResources
from . import places
from .errors import CompilationError, CompileTimeAssertionFailure


class ASTSource:
    """A kernel with the types of its arguments: {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.signature, self.name, self.ext = fn, signature, fn.__name__, "ttir"
        self.constants = {}
        for k, x in (constexprs or {}).items():
            self.constants[(fn.arg_names.index(k),) if isinstance(k, str) else k] = x
        self.attrs = attrs or {}
        if not all(isinstance(k, str) for k in signature):
            raise TypeError("Signature keys must be string")

    def hash(self):
        constants = "-".join(getattr(x, "cache_key", None) or str(x) for _, x in sorted(self.constants.items()))
        types = [x for _, x in sorted(self.signature.items())]
        return hashlib.sha256(f"{self.fn.cache_key}-{self.attrs}-{types}-{constants}".encode()).hexdigest()

    def parse_options(self):
        return {}

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """Returns a module that tells torch which tensors the kernel writes. The module has no other part of the
        IR."""
        from neso import contexts, launches

        from .._C.libtriton import WrittenModule
        kernel = Recipe(self, options).build(contexts.compiling(), target_name(target.arch), until=2)
        written = iter([w for w, (_, _, is_one) in zip(kernel.written, kernel.params) if not is_one])
        found = []
        for leaf in launches.leaves_of(self.signature, self.constants, self.fn.arg_names):
            first = next(written)
            if leaf.is_descriptor:
                rank = len(leaf.kind[leaf.kind.index("[") + 1:leaf.kind.index("]")].split(","))
                found += [first] + [False] * 2 * rank
                for _ in range(2 * rank - 1):
                    next(written)
            elif leaf.is_pointer:
                found.append(first)
        return WrittenModule(self.fn.__name__, found)


class IRSource:
    """A file of MLIR, which neso does not read."""

    def __init__(self, path, context=None, backend=None):
        raise CompilationError(str(path), None, f"neso cannot compile {path}: it reads kernels in Python, not MLIR or PTX files")


# -- in neso's words --

BOOLS = {"u1": "i1", "*u1": "*i1", "*ku1": "*ki1"}


def debug_of(options):
    """Returns neso_compile_options.debug for a kernel's options: 1 with checks of overflow; 2 without them, as Inductor requests."""
    return (1 if options.sanitize_overflow else 2) if options.debug else 0


def is_cached(resources):
    """Did the PTX of a kernel with these resources come from the cache?"""
    return resources["num_threads"] > 0 and resources["opt_seconds"] + resources["codegen_seconds"] == 0  # the interpreter needs no PTX


class Recipe:
    """The input of neso's library: the kernel's module and the modules that it imports, a signature, options. It can be pickled."""

    def __init__(self, src, options):
        from neso import source
        fn = src.fn
        self.kernel, self.file = source.name_of(fn), fn.fn.__code__.co_filename
        self.main, self.sources, self.written = source.stand_alone(fn, src.constants)
        self.constants, self.attrs, self.source = src.constants, src.attrs, source
        self.names = fn.arg_names
        kinds = {name: src.signature.get(name, "constexpr") for name in fn.arg_names}
        self.signature = ", ".join(f"{p.name}={self._entry((i,), kinds[p.name], p.is_constexpr)}" for i, p in enumerate(fn.params)
                                   if (i,) in self.constants or p.name in src.signature)
        self.options = {"num_warps": options.num_warps, "num_stages": options.num_stages, "max_registers": options.maxnreg or 0,
                        "no_fp_fusion": int(not options.enable_fp_fusion), "deterministic": int(options.deterministic), "fp_reassoc": int(options.fp_reassoc),
                        "debug": debug_of(options),
                        "check": int(os.environ.get("NESO_PARANOID", "0") not in ("", "0"))}
        # The pass persistent_grid lets a CTA run programs one after the other; the programs of a cooperative launch
        # must all run at once.
        self.skip = "persistent_grid" if options.launch_cooperative_grid else None
        self.texts, self.paths = self.sources.texts, self.sources.paths
        del self.names, self.constants, self.attrs, self.source, self.sources, self.written

    def _entry(self, path, kind, is_constexpr=False):
        """Returns an entry of the signature. The path of a tuple's element has one more index."""
        if isinstance(kind, (tuple, list)):
            parts = [self._entry(path + (i,), k) for i, k in enumerate(kind)]
            name = self._class_name(kind) if hasattr(kind, "_fields") else ""
            return f"{name}({', '.join(parts)}{',' if len(parts) == 1 and not name else ''})"
        if path in self.constants and (kind == "constexpr" or not kind.startswith("tensordesc")):
            x = self.constants[path]
            if not is_constexpr and isinstance(x, int) and x == 1 and not isinstance(x, bool):
                return "i32:1"
            if self.written.get(path) is None:
                raise CompilationError(self.kernel, None, f"neso cannot write the constant {x!r} of parameter '{self.names[path[0]]}' of "
                                                          f"'{self.kernel}' as an expression of the language")
            return self.written[path]
        if kind.startswith("nvTmaDesc"):
            raise CompilationError(self.kernel, None, f"'{self.kernel}' takes a tensor map made by the program; neso takes "
                                                      "triton.tools.tensor_descriptor.TensorDescriptor")
        divides = any(name == "tt.divisibility" and n % 16 == 0 for name, n in self.attrs.get(path, []))
        return BOOLS.get(kind, kind) + (":16" if divides else "")

    def _class_name(self, kind):
        line, name = self.source.import_class(type(kind), self.sources)
        texts = self.sources.texts
        texts[self.main] = self.source.with_line(texts[self.main], line)
        return name

    def build(self, context, target, until=0, skip=None):
        """Compiles and returns neso's kernel. `until` is the last text to make; `skip` names passes to skip."""
        from neso import contexts, library, recording
        from neso.source import digest
        texts = dict(self.texts)
        main = texts.pop(self.main)
        skip = ",".join(filter(None, [self.skip, skip])) or None
        with context.lock, contexts.held_prints() as printed:
            try:
                module = context.source(self.file, main, texts)
                kernel = module.kernel(self.kernel, self.signature, load=False, **dict(self.options, until=until, target=target, skip=skip))
                if is_cached(kernel.resources):
                    printed.clear()  # Triton, too, executes tl.static_print only if it compiles
                if recording.is_on() and not until:
                    recording.keep(kernel, self.file, self.main, self.texts, digest(*sum(sorted(self.texts.items()), ())))
                return kernel
            except library.NesoError as e:
                error = error_of(e, self)
                raise error from error.__cause__


# Programs search some messages for Triton's wording. Each row has a pattern of neso's message, and Triton's
# wording, which becomes the text of the innermost CompilationError.__cause__ and the end of the error's text.
WORDS = (
    (r"tl.arange needs a power of 2 elements", "arange's range must be a power of 2"),
    (r"dimension (\d+) of a shape must be a power of 2", r"Shape element \1 must be a power of 2"),
    (r"max_num_imprecise_acc is (\d+), more than K = (\d+)", r"max_num_imprecise_acc (\1) must be <= K (\2)"),
    (r"'(\w+)' is a global variable but not a constexpr", r"Cannot access global variable \1 from within @jit'ed function"),
    (r"division of \S+ by \S+: the operands have different signedness", "Cannot use / or % because they have different signedness"),
    (r"'\S+' does not take operands of types? (.+) \[operator-type\]", r"invalid operands of type \1"),
    (r"a tensor is indexed with ':' and None only, found (.+) \[index-kind\]", r"unsupported tensor index: \1"),
    (r"the axis (-?\d+) is out of range for a tensor of rank \d+", r"invalid axis \1"),
    (r"the axis (-?\d+) is given twice", r"duplicate axes, normalized axes = [\1, \1]"),
    (r"the axis of tl.(program_id|num_programs) must be 0, 1 or 2, found (-?\d+)", r"\1 axis must be 0, 1, or 2 but got \2"),
    (r"returned values have different types: (.+) \[", r"Inconsistent return types: \1"),
    (r"'(\w+)' has different types in the two branches", r"Mismatched type for \1"),
    (r"the two sides of the conditional expression have different types",
     "Ternary expression with dynamic condition has inconsistent type"),
    (r"((?:lhs|rhs)_scale) must have the shape \[(\d+), (\d+)\], .*; found \[(\d+), (\d+)\]",
     r"\1 must be a tensor of shape [\2, \3]. Got ['\4', '\5']"),
    (r"cannot write through a constant pointer", "Cannot store to a constant pointer"),
    (r"tl\.(float8\w+) is not supported by this version of neso|unknown type '\*?(fp8\w+)'", r"type \1\2 not supported in this architecture"),
)


def words_of_triton(text):
    for pattern, words in WORDS:
        found = re.search(pattern, text)
        if found:
            return found.expand(words)
    return ""


def error_of(e, recipe):
    """Returns Triton's error for an error of neso's library while it compiles a recipe's kernel."""
    text = str(e)
    room = re.search(r"needs ([\d,]+) bytes of shared memory, and \S+ has ([\d,]+)", text)
    if e.status == 1 and room and "[shared-too-large]" in text:
        return OutOfResources(*(int(n.replace(",", "")) for n in room.groups()), "shared memory")
    if e.status != 1:
        return e
    modules = {}
    for module, path in recipe.paths.items():
        text = text.replace(f"{module}.py:", f"{path}:")
        modules.setdefault(path, []).append(recipe.texts[module])
    kind = CompileTimeAssertionFailure if "[static-assert]" in text else CompilationError
    return places.chained(kind, recipe.kernel, text, modules, words_of_triton(text))


# -- compiled kernels --

def shown_name(src):
    """Returns the kernel's name, or the name that the function `repr` of @triton.jit makes of its types and constants."""
    if getattr(src.fn, "_repr", None) is None:
        return src.name
    constants = {src.fn.arg_names[k[0]] if len(k) == 1 else k: x for k, x in src.constants.items()}
    return src.fn.repr(types.SimpleNamespace(signature=src.signature, constants=constants))


class LazyDict:
    """A dictionary that computes parts of its data when a program calls get()."""

    def __init__(self, data):
        self.data, self.extras = data, []

    def get(self):
        for func, args in self.extras:
            self.data = {**self.data, **func(*args)}
        self.extras.clear()
        return self.data

    def add(self, func, args):
        self.extras.append((func, args))


class AsmDict(dict):
    """A kernel's texts "ptx" and "source", and its code "cubin" and "sass". If no ptxas is found, or if the driver assembles the kernel, "cubin" is the PTX
    text, which the driver loads with the same call."""
    recipe = target = None

    def __missing__(self, key):
        if key == "ptx" and self.recipe:  # a kernel of the interpreter, which needs no PTX
            from neso import contexts
            self["ptx"] = self.recipe.build(contexts.compiling(), self.target).text("ptx")
            return self[key]
        if key == "cubin" and self.recipe:
            self.put_code(assembler().codes_of([self["ptx"]], self.target, None, "", True))
            return self[key]
        if key == "sass" and self.recipe:
            self["sass"] = assembler().disassembled(self["ptx"], self.target)
            return self[key]
        why = "; neso has no such stage: `neso compile --emit` prints those that it has" if key in ("ttir", "ttgir", "llir") else ""
        raise KeyError(f"Unknown key: '{key}'; neso's kernels have {', '.join(self)}{why}")

    def put_code(self, codes):
        self["cubin"] = codes.get(assembler().digest(self["ptx"])) or self["ptx"].encode() + b"\0"

    def __contains__(self, key):
        return key in ("ptx", "cubin") and self.recipe is not None or super().__contains__(key)


def assembler():
    from neso import assembler
    return assembler


_METADATA = {}


def metadata_of(values):
    """Returns the values as a named tuple; equal sets of fields share one class."""
    names = tuple(sorted(values))
    kind = _METADATA.setdefault(names, namedtuple("KernelMetadata", names))
    return kind(**values)


def compile(src, target=None, options=None, _env_vars=None, keep=True):
    """Compiles an ASTSource into a CompiledKernel. With `keep`, writes its files below TRITON_CACHE_DIR, where torch searches for them."""
    if target is None:
        target = driver.active.get_current_target()
    assert isinstance(target, GPUTarget), "target must be of GPUTarget type"
    backend = make_backend(target)
    if not isinstance(src, ASTSource):
        src = IRSource(src)
    parsed = backend.parse_options(dict(options or {}, **src.parse_options()))
    check_options(src.fn, parsed)
    key = get_cache_key(src, backend, parsed, {})
    return CompiledKernel(src, parsed, target, hashlib.sha256(key.encode()).hexdigest(), keep)


def place_of(fn):
    return f"{fn.fn.__code__.co_filename}:{getattr(fn, 'starting_line_number', fn.fn.__code__.co_firstlineno)}"


_WARNED = set()
THREADS_MOST = 1024  # of a CTA, on every GPU


def check_options(fn, options):
    """Raises an error for an unsupported option that affects results. Warns once about an unsupported option that affects
    only speed."""
    for p in fn.params:
        if p.is_constexpr and p.do_not_specialize:
            raise CompilationError(fn.__name__, None, f"{place_of(fn)}: error: {p.name} marked as constexpr and listed in do_not_specialize")
    if options.num_ctas > 1 and int(re.sub(r"\D", "", options.arch)) < 90:
        raise ValueError("num_ctas > 1 requires NVIDIA SM90+ (Hopper)")
    if options.num_warps * 32 > THREADS_MOST:
        raise OutOfResources(options.num_warps * 32, THREADS_MOST, "threads")
    for name, usual in (("num_ctas", 1), ("launch_pdl", False)):
        value = getattr(options, name)
        if value != usual and (place_of(fn), name) not in _WARNED:
            _WARNED.add((place_of(fn), name))
            warnings.warn(f"{place_of(fn)}: {name}={value} of '{fn.__name__}' is not followed: {NOT_FOLLOWED[name]}", stacklevel=2)


NOT_FOLLOWED = {"num_ctas": "neso decides by itself on clusters of CTAs; results are the same",
                "launch_pdl": "a launch begins when the one before it has ended; results are the same"}


def compile_for_launch(src, target=None, options=None):
    return compile(src, target, options, keep=False)


def compile_or_fall_back(src, target=None, options=None):
    """Implements triton.compile. With NESO_FALLBACK=triton, the original Triton compiles the kernels that neso
    refuses."""
    from neso import fallback
    try:
        return compile(src, target, options)
    except Exception as e:
        if not fallback.is_on() or not fallback.is_refusal(e) or not isinstance(src, ASTSource):
            raise
        from neso import original
        fallback.Refused(src.fn, e)
        return original.compile(src, target or driver.active.get_current_target(), options)


def make_backend(target):
    if not CUDABackend.supports_target(target):
        raise RuntimeError(f"0 compatible backends for target ({target.backend}): neso compiles for cuda")
    return CUDABackend(target)


def _context_here(target):
    """Returns the context of the current device and its name if the device matches the target; else a context that can only compile, and None.
    If a process does not use its GPU yet (for example, a compile worker), the function does not change this."""
    from neso import contexts
    active = driver._active
    if active is None or not is_started(active) or active.get_current_target() != target:
        return contexts.compiling(), None
    name = active.context_name(active.get_current_device())
    return contexts.get(name), name


def is_started(active):
    return active.where in ("interpreter", "emulator") or active.torch is None or active.torch.cuda.is_initialized()


class _Here:
    """The part of a CompiledKernel that belongs to this process: neso's kernels by the name of their context, and the launcher."""

    def __init__(self):
        self.kernels, self.run, self.launcher = {}, None, None

    def __reduce__(self):
        return _Here, ()

    def __deepcopy__(self, memo):
        return _Here()


class CompiledKernel:
    """A kernel that is compiled for types and a target. The first launch or _init_handles() loads it."""

    def __init__(self, src, options, target, hash, keep=True):
        from neso import contexts
        began = time.perf_counter()
        self.src, self.hash, self.name = src, hash, shown_name(src)
        self.recipe = Recipe(src, options)
        self.module = self.function = None
        self._here = _Here()
        where = "interpreter" if getattr(src.fn, "device", None) else None
        self._device = where
        context, name = _context_here(target) if where is None else (contexts.get(where), where)
        on_cpu = name == "interpreter"
        kernel = self.recipe.build(context, None if name and name not in ("interpreter", "emulator") else target_name(target.arch))
        if name:
            self._here.kernels[name] = kernel
        resources = kernel.resources
        self.asm = AsmDict({"source": src.fn.src})
        self.asm.recipe, self.asm.target = self.recipe, target_name(target.arch)
        if not on_cpu:
            self.asm["ptx"] = kernel.text("ptx")
        plan = {} if on_cpu else json.loads(kernel.text("json"))
        plain = is_plain(plan) and not options.launch_cooperative_grid
        self.metadata = metadata_of({**options.__dict__, "hash": hash, "target": target, "name": self.name,
                                     "shared": resources["shared_bytes"], "triton_version": __version__, "tensordesc_meta": [],
                                     "tmem_size": 0, "launches_plainly": plain})
        self.packed_metadata = (options.num_warps, options.num_ctas, resources["shared_bytes"])
        # The variants to assemble ahead of time: the variants for small grids. All other variants are for rare
        # launches, or are useful only for some register counts of the kernel. The driver assembles these variants.
        self._variants = [v["without"] for v in plan.get("variants", [])[1:] if v.get("where", "").startswith("programs <=")]
        self._codes, self.metadata_group = {}, {}
        if keep and not on_cpu:
            uses_gpu = driver._active is not None and is_started(driver._active)
            self.assemble(assembler().has_time(uses_gpu))
            self.metadata_group = self._keep()
        if knobs.compilation.listener:
            self._report(resources, time.perf_counter() - began)

    def _report(self, resources, seconds):
        """Calls the program's listener with the times of this compilation, which took these seconds."""
        trace, opt, codegen = (int(1e6 * resources[name + "_seconds"]) for name in ("trace", "opt", "codegen"))
        cached = is_cached(resources)
        rest = int(1e6 * seconds) - trace - opt - codegen
        times = knobs.CompileTimes(trace + rest, [], 0) if cached else knobs.CompileTimes(trace, [("opt", opt), ("ptx", codegen)], rest)
        knobs.compilation.listener(src=self.src, metadata=self.metadata._asdict(), metadata_group=self.metadata_group, times=times, cache_hit=cached)

    def assemble(self, may_run=True):
        """Gets the cubins of the kernel and of its variants from the cache or, if `may_run`, from ptxas."""
        from neso import contexts
        texts = [self.asm["ptx"]]
        for without in self._variants:
            texts.append(self.recipe.build(contexts.compiling(), self.asm.target, skip=without).text("ptx"))
        manager = None if knobs.compilation.always_compile else get_cache_manager(self.hash)
        self._codes = assembler().codes_of(texts, self.asm.target, manager, self.name[:150], may_run)
        self.asm.put_code(self._codes)

    def _keep(self):
        """Writes the files that torch's launcher and caches search for, unless only neso's launcher can launch the kernel."""
        if not self.metadata.launches_plainly or knobs.compilation.always_compile:
            return {}
        manager = get_cache_manager(self.hash)
        name = self.name[:150]
        texts = {f"{name}.cubin": self.asm["cubin"], f"{name}.ptx": self.asm["ptx"], f"{name}.source": self.asm["source"],
                 f"{name}.json": json.dumps(self.metadata._asdict(), default=vars)}
        return {k: manager.get_file(k) or manager.put(x, k) for k, x in texts.items()}

    def __getstate__(self):
        return {**self.__dict__, "module": None, "function": None, "metadata": self.metadata._asdict()}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if isinstance(self.metadata, dict):
            self.metadata = metadata_of(self.metadata)

    def _kernel_here(self):
        """Returns neso's kernel for the current device, and the name of its context."""
        from neso import contexts
        active = driver.active
        name = self._device or active.context_name(active.get_current_device())
        built = self._here.kernels
        if name not in built:
            built[name] = self.recipe.build(contexts.get(name), target_name(self.metadata.target.arch) if name in contexts.CPU else None)
        return built[name], name

    def _init_handles(self):
        if self._here.run is not None:
            return
        from neso import launches
        kernel, name = self._kernel_here()
        if name.startswith("cuda"):
            most = driver.active.utils.get_device_properties(driver.active.get_current_device())["max_shared_mem"]
            if self.metadata.shared > most:
                raise OutOfResources(self.metadata.shared, most, "shared memory")
        hook = knobs.runtime.kernel_load_start_hook
        if not knobs.is_empty(hook):
            hook(self.module, self.function, self.name, self.metadata_group, self.hash)
        try:
            kernel.load(self._codes)
        except Exception as e:
            raise launches.error_of(e, self.metadata) from None
        resources = kernel.resources
        self.n_regs, self.n_spills = resources["registers"], max(0, resources["local_bytes"]) // 4
        if self.n_regs < 0:
            self.n_regs = resources["live_registers"] or 32  # no assembler runs for a CPU device; 32 is the number for a simple kernel
        self.n_max_threads = 1024
        self._here.launcher = launches.Launcher(kernel, name, self.src.signature, self.src.constants, self.src.fn.arg_names,
                                                self.metadata.launch_cooperative_grid)
        self._here.run = self._here.launcher.in_c() or self._here.launcher
        self.module, self.function = kernel, kernel._as_parameter_.value
        hook = knobs.runtime.kernel_load_end_hook
        if not knobs.is_empty(hook):
            hook(self.module, self.function, self.name, self.metadata_group, self.hash)

    @property
    def run(self):
        """run(grid_0, grid_1, grid_2, stream, function, metadata, launch metadata, hooks, *arguments)"""
        if self._here.run is None:
            self._init_handles()
        return self._here.run

    def is_loaded(self):
        return self._here.run is not None

    def launch_metadata(self, grid, stream, *args):
        if knobs.is_empty(knobs.runtime.launch_enter_hook):
            return None
        self._init_handles()
        found = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        if getattr(self.src.fn, "launch_metadata", None) is not None:
            found.add(self.src.fn.launch_metadata, (grid, self.metadata, dict(zip(self.src.fn.arg_names, args))))
        return found

    def __getitem__(self, grid):
        from neso import launches
        self._init_handles()
        grid = tuple(grid) + (1, 1)

        def runner(*args, stream=None):
            launches.check_tensors(args, self._device or driver.active.where)
            if stream is None:
                stream = driver.active.get_current_stream(driver.active.get_current_device())
            self.run(grid[0], grid[1], grid[2], stream, self.function, self.packed_metadata,
                     self.launch_metadata(grid[:3], stream, *args), knobs.runtime.launch_enter_hook,
                     knobs.runtime.launch_exit_hook, *args)

        return runner


def is_plain(plan):
    """Does a launch of this plan need only its arguments and its grid? Then launchers other than neso's can launch it."""
    if len(plan.get("variants", [])) != 1 or plan.get("maps"):
        return False
    v = plan["variants"][0]
    return not v.get("guards") and v.get("grid") == "logical" and not v.get("pairs") and not v.get("maps")
