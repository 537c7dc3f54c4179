# SPDX-License-Identifier: MIT
"""source.py: turns a jit function into source modules that need no other files.

A JITFunction has its text and its globals. Each function becomes a small module. The module's first line imports the names of triton that the
function uses and the functions that it calls, and assigns the values of its globals. The function's text follows, unchanged, and on the same line as
in the user's file, so that messages have the right line. neso gets the kernel's module, and finds the other modules by name (`neso_find`). source.py
works with neso's triton and with the original one (tests/replay).
"""
import ast
import functools
import hashlib
import inspect
import re
import textwrap
import types

import triton
import triton.language as tl
from triton.runtime.jit import JITCallable, JITFunction


def unwrap(x):
    """Returns the jit function inside autotuners, heuristics and other wrappers with an attribute `fn`."""
    while not isinstance(x, JITCallable) and hasattr(x, "fn") and not inspect.isfunction(x):
        x = x.fn
    return x


def text_of(fn):
    src = fn.src
    return src() if callable(src) else src


def name_of(fn):
    """Returns the name of a jit function in its source, which may differ from its __name__."""
    found = re.search(r"^\s*(?:async\s+)?def\s+(\w+)", text_of(fn), re.MULTILINE)
    return found.group(1) if found else fn.fn.__name__


@functools.lru_cache(4096)
def names_used(text):
    """Returns the names that a text reads from its scope, each with the attributes that the text takes from it."""
    names = {}
    tree = ast.parse(text)
    whole = tree.body[0] if len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef) else None
    parameters = {a.arg for a in ast.walk(whole.args) if isinstance(a, ast.arg)} if whole else set()
    inside = [node for statement in whole.body for node in ast.walk(statement)] if whole else []
    hidden = {id(node) for node in inside if isinstance(node, ast.Name) and node.id in parameters}
    for node in ast.walk(tree):
        if id(node) in hidden or isinstance(node, ast.Attribute) and id(node.value) in hidden:
            continue
        if isinstance(node, ast.Name):
            names.setdefault(node.id, set())
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.setdefault(node.value, set())  # an annotation in quotes
    return names


def check_result_used(text, called):
    """Raises an error if the text calls a function that @triton.must_use_result marks, and does not use the result."""
    words = getattr(called, "_must_use_result", False)
    if not words:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func).split(".")[-1] == called.__name__:
            what = f"The result of {ast.unparse(node.value.func)} is not being used."
            raise triton.CompilationError(text, node.value, f"{what} {words}" if isinstance(words, str) else what)


def is_named_tuple(x):
    return isinstance(x, type) and issubclass(x, tuple) and hasattr(x, "_fields")


def is_tritons(module):
    return module == "triton" or module.startswith("triton.")


class Sources:
    """The modules for one kernel: their texts by name."""

    def __init__(self):
        self.texts = {}
        self.paths = {}  # maps the modules of functions to the files that define the functions
        self.known = {}  # maps id(function or class) to (object, the module that defines it, name there)

    def add(self, fn):
        """Makes the module of a jit function (once), and returns its name."""
        return self._define(fn, name_of(fn), self._decorator(fn), text_of(fn), scope_of(fn), line_of(fn))

    def _decorator(self, fn):
        if not isinstance(fn, JITFunction):
            return "@triton.constexpr_function"
        options = ["noinline=True" if fn.noinline else ""]  # not `debug`, which the launch's options replace (Recipe)
        options += [f"{name}={list(x)!r}" for name in ("do_not_specialize", "do_not_specialize_on_alignment")
                    for x in [getattr(fn, name, None)] if x]
        text = ", ".join(filter(None, options))
        return f"@triton.jit({text})" if text else "@triton.jit"

    def _define(self, key, name, decorator, text, scope, line=1):
        """Makes a module with the function on its line in the user's file, if there is room above, and returns the module's name."""
        if id(key) in self.known:
            return self.known[id(key)][1]
        module = f"m{len(self.known)}_{name}"
        self.known[id(key)] = (key, module, name)
        code = getattr(getattr(key, "fn", key), "__code__", None)
        if code is not None:
            self.paths[module] = code.co_filename
        head = ["import triton", "import triton.language as tl"]
        for used, attributes in names_used(text).items():
            if used in scope and used != name:
                head += self._bind(used, scope[used], attributes, scope)
                members = vars(scope[used]) if isinstance(scope[used], types.ModuleType) else {}
                for called in [scope[used], *(members.get(a) for a in attributes)]:
                    check_result_used(text, called)
        between = "\n" * max(1, line - (1 if decorator else 0) - 1)
        self.texts[module] = "; ".join(head) + between + (decorator + "\n" if decorator else "") + text + "\n"
        return module

    def _bind(self, name, value, attributes, scope):
        """Returns lines that bind `name` to `value`; an empty list if neso must report the error."""
        value = unwrap(value)
        if isinstance(value, types.ModuleType):
            return self._bind_module(name, value, attributes)
        if isinstance(value, tl.constexpr):
            lines, text = self.value(value.value)
            return lines + [f"{name} = tl.constexpr({text})"] if text else []
        found = self._origin(value)
        if found:
            return [f"from {found[0]} import {found[1]} as {name}"]
        lines, text = self.value(value)
        if text is None:
            return []
        annotation = ": tl.constexpr" if "constexpr" in str(scope.get("__annotations__", {}).get(name, "")) else ""
        return lines + [f"{name}{annotation} = {text}"]

    def _bind_module(self, name, module, attributes):
        if module.__name__.endswith(".libdevice"):
            return [f"from triton.language.extra import libdevice as {name}"]
        if module.__name__ == "triton.language.target_info":
            return [f"import {self._target_info()} as {name}"]
        if module.__name__ == "torch" and attributes and all(is_torch_dtype(getattr(module, a, None)) for a in attributes):
            for attribute in sorted(attributes):
                self._torch_dtype(getattr(module, attribute))
            return [f"import {TORCH_DTYPES} as {name}"]
        if is_tritons(module.__name__) or module.__name__ in ("math", "torch"):
            return [f"import {module.__name__} as {name}"]
        made = f"m{len(self.known)}_{name}"
        self.known[id(module)] = (module, made, name)
        lines = ["import triton", "import triton.language as tl"]
        for attribute in sorted(attributes):
            if hasattr(module, attribute):
                lines += self._bind(attribute, getattr(module, attribute), set(), vars(module))
        self.texts[made] = "\n".join(lines) + "\n"
        return [f"import {made} as {name}"]

    def _origin(self, value):
        """Returns the module and name from which a function or class can be imported."""
        if isinstance(value, JITCallable):
            if value.fn.__module__ == "triton.language.target_info":
                return self._target_info(), value.fn.__name__
            if is_tritons(value.fn.__module__) and not value.fn.__module__.startswith("triton.tools."):
                return value.fn.__module__, value.fn.__name__
            return self.add(value), name_of(value)
        if getattr(value, "__triton_builtin__", False) and inspect.isfunction(value) and not is_tritons(value.__module__):
            return self._builtin_of_user(value)
        module = getattr(value, "__module__", None) or ""
        name = getattr(value, "__name__", None)
        if name and is_tritons(module) and getattr(value, "__triton_builtin__", False):
            return "triton.language" if getattr(tl, name, None) is value else module, name
        if not name or name == "<lambda>" or not (inspect.isfunction(value) or inspect.isclass(value) or inspect.isbuiltin(value)):
            return None
        if module.endswith(".libdevice"):
            return "triton.language.extra.libdevice", name
        if is_tritons(module):
            return ("triton.language" if getattr(tl, name, None) is value else module), name
        if module in ("builtins", "torch") or inspect.isbuiltin(value):
            return None
        if is_named_tuple(value):
            return self._named_tuple(value), name
        try:
            text = textwrap.dedent(inspect.getsource(value))
        except (OSError, TypeError):
            return None
        scope = dict(getattr(value, "__globals__", None) or vars(inspect.getmodule(value) or types))
        if inspect.isfunction(value) and getattr(value, "__closure__", None):
            scope.update(inspect.getclosurevars(value).nonlocals)
        return self._define(value, name, "", text, scope, inspect.getsourcelines(value)[1]), name

    def _torch_dtype(self, x):
        """Adds a dtype of torch to the module of these dtypes, and returns its name there. It is an object that equals no other: in Triton, too,
        it is no type of the language."""
        name = str(x).rpartition(".")[2]
        text = self.texts.setdefault(TORCH_DTYPES, "class dtype:\n    pass\n\n\n")
        if f"\n{name} = " not in text:
            self.texts[TORCH_DTYPES] = f"{text}{name} = dtype()\n"
        return name

    def _target_info(self):
        """Makes the module of the functions that query the target, with the answers for the current target, and returns
        the module's name."""
        target = tl.target_info.current_target()
        arch = target.arch if target is not None and isinstance(target.arch, int) else 0
        lines = ["import triton", "import triton.language as tl"]
        for name, parameters, answer in (("is_cuda", "", target is not None), ("cuda_capability_geq", "major, minor=0", f"{arch} >= major * 10 + minor"),
                                         *((name, "", False) for name in ("is_hip", "is_hip_cdna3", "is_hip_cdna4"))):
            lines += ["@triton.constexpr_function", f"def {name}({parameters}):", f"    return {answer}"]
        self.texts["target_info"] = "\n".join(lines) + "\n"
        return "target_info"

    def _named_tuple(self, kind):
        """Makes the module of a class of named tuples, with the fields and defaults of the class, and returns the
        module's name."""
        if id(kind) in self.known:
            return self.known[id(kind)][1]
        module, name = f"class{len(self.known)}_{kind.__name__}", kind.__name__
        self.known[id(kind)] = (kind, module, name)
        defaults = [self.value(kind._field_defaults[f]) for f in kind._fields if f in kind._field_defaults]
        lines = ["from collections import namedtuple", "import triton", "import triton.language as tl"] + sum((l for l, _ in defaults), [])
        given = ", ".join(text for _, text in defaults if text is not None)
        more = f", defaults=({given},)" if given else ""
        self.texts[module] = "\n".join(lines) + f"\n\n\n{name} = namedtuple({name!r}, {list(kind._fields)!r}{more})\n"
        return module

    def _builtin_of_user(self, value):
        """Makes a module of a Python function that Triton calls during compilation. With neso, the kernel calls the function."""
        scope = inspect.getclosurevars(value).nonlocals
        inner = [x for x in scope.values() if inspect.isfunction(x)]
        value = inner[0] if len(inner) == 1 else value
        text = textwrap.dedent(inspect.getsource(value))
        text = text[re.search(r"^def\s", text, re.MULTILINE).start():]
        # Triton calls this function with an object of tl.constexpr for each constant; the language has no such
        # objects.
        text = re.sub(r"isinstance\((\w+),\s*(?:\w+\.)*constexpr\)", r"(not isinstance(\1, tl.tensor))", text)
        return self._define(value, value.__name__, "@triton.jit", text, value.__globals__, value.__code__.co_firstlineno), value.__name__

    def value(self, x):
        """Returns a constant as an expression: (the lines that it needs, its text); ([], None) if it has no expression."""
        x = unwrap(x)
        if isinstance(x, tl.constexpr):
            return self.value(x.value)
        if isinstance(x, tl.dtype):
            return [], dtype_text(x)
        if is_torch_dtype(x):
            name = self._torch_dtype(x)
            return [f"from {TORCH_DTYPES} import {name} as {name}_of_torch"], f"{name}_of_torch"
        if isinstance(x, bool) or x is None or type(x) in (int, str):
            return [], repr(x)
        if isinstance(x, int):  # an IntEnum's member
            return [], repr(int(x))
        if isinstance(x, float):
            return [], repr(x) if x == x and abs(x) != float("inf") else f"float('{x}')"
        if isinstance(x, (tuple, list)):
            parts = [self.value(y) for y in x]
            if any(text is None for _, text in parts):
                return [], None
            inner = ", ".join(text for _, text in parts)
            inner = inner + "," if len(parts) == 1 and isinstance(x, tuple) else inner
            return sum((lines for lines, _ in parts), []), f"({inner})" if isinstance(x, tuple) else f"[{inner}]"
        found = self._origin(x)
        if found:
            alias = f"{found[1]}_of_{found[0].replace('.', '_')}"
            return [f"from {found[0]} import {found[1]} as {alias}"], alias
        return [], None


TORCH_DTYPES = "torch_dtypes"  # the module that stands for torch in a kernel that reads only its dtypes


def is_torch_dtype(x):
    return type(x).__module__ == "torch" and type(x).__name__ == "dtype"


def dtype_text(x):
    if x.is_ptr():
        return f"tl.pointer_type({dtype_text(x.element_ty)})"
    names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8e4nv",
             "fp8e5": "float8e5", "fp8e4b8": "float8e4b8", "fp8e5b16": "float8e5b16", "fp8e4b15": "float8e4b15"}
    name = names.get(x.name, x.name)
    return "tl." + name if hasattr(tl, name) else "tl." + name.replace("i", "int", 1) if name[0] in "iu" else None


def line_of(fn):
    """Returns the line of the function's `def`."""
    before = next((i for i, line in enumerate(fn.raw_src) if line.strip().startswith("def ")), 0)
    return fn.starting_line_number + before


def with_line(text, line):
    """Adds an import to a module without moving its other lines."""
    return f"{line}; {text}"


def scope_of(fn):
    scope = dict(fn.fn.__globals__)
    scope.update(inspect.getclosurevars(fn.fn).nonlocals)
    return scope


def stand_alone(fn, constants):
    """Returns (the name of the kernel's module, the Sources, the expressions of `constants` by their keys)."""
    sources = Sources()
    main = sources.add(fn)
    lines, written = [], {}
    for name, value in constants.items():
        more, text = sources.value(value)
        lines += more
        written[name] = text
    if lines:
        sources.texts[main] = with_line(sources.texts[main], "; ".join(lines))
    return main, sources, written


def import_class(kind, sources):
    """Returns the line that imports a class of named tuples, and its name in a signature."""
    module = sources._named_tuple(kind)
    return f"from {module} import {kind.__name__}", kind.__name__


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
