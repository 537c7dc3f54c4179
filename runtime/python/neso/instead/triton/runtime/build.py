# SPDX-License-Identifier: MIT
"""triton.runtime.build in neso: builds Python modules from C for programs that request this. neso's own launches need no
such module."""
import hashlib
import importlib.util
import logging
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile

from .. import knobs
from .cache import get_cache_manager


def _compiler():
    """Returns the C compiler that the user chose by CC, else the first that is found."""
    found = knobs.build.cc or shutil.which("gcc") or shutil.which("clang")
    if not found:
        raise RuntimeError("Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.")
    return found


def _build(name, src, srcdir, library_dirs, include_dirs, libraries, ccflags=()):
    """Compiles the file `src` into a shared library in the folder `srcdir`, and returns its path."""
    if knobs.build.impl is not None:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries)
    out = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
    includes = [*include_dirs, srcdir, sysconfig.get_path("include")]
    subprocess.check_call([_compiler(), src, "-O3", "-shared", "-fPIC", "-Wno-psabi", "-o", out, *(f"-l{x}" for x in libraries),
                           *(f"-L{x}" for x in library_dirs), *(f"-I{x}" for x in includes if x), *ccflags], stdout=subprocess.DEVNULL)
    return out


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_or_warn(name, path):
    """Imports a module of the cache; None if the file is broken."""
    try:
        return _load(name, path)
    except (ImportError, RuntimeError) as e:
        logging.getLogger(__name__).warning("Triton cache error: compiled module %s could not be loaded: %s", name, e)
        return None


def compile_module_from_src(src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None):
    """Builds a Python module from a text in C, or finds it in Triton's cache folder, and imports it."""
    parts = [src, platform.machine(), platform.system(), str(library_dirs), str(include_dirs), str(libraries), str(ccflags)]
    cache = get_cache_manager(hashlib.sha256("\0".join(parts).encode()).hexdigest())
    file = name + sysconfig.get_config_var("EXT_SUFFIX")
    path = cache.get_file(file)
    module = _load_or_warn(name, path) if path else None
    if module is None:
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, name + ".c")
            with open(text, "w") as f:
                f.write(src)
            with open(_build(name, text, folder, library_dirs or [], include_dirs or [], libraries or [], ccflags or []), "rb") as f:
                module = _load(name, cache.put(f.read(), file, binary=True))
    return module
