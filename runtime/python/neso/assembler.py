# SPDX-License-Identifier: MIT
"""assembler.py: runs ptxas, if it is installed, to assemble PTX before a launch needs the code.

    PTX of a kernel and of its variants ─► one ptxas process each ─► cubins ─► cache folder ─► neso_kernel_load_code

The driver's assembler makes equally fast code, but assembles one text at a time. So triton.compile runs ptxas in compile workers, in threads
and in processes that do not use a GPU. On the main thread of a program that uses its GPU, the driver assembles, because starting a process
takes longer. NESO_PTXAS=off never runs ptxas, NESO_PTXAS=always runs it on the main thread too.

nvJitLink cannot replace ptxas, because it makes relocatable code, in which setmaxnreg has no effect.
"""
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings

_OPTIONS = ("-lineinfo",)


class Assembler:
    """A ptxas program. `key` identifies its version: a digest of the start of the file, its size, and the options."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            head = f.read(1 << 16)
        self.key = hashlib.sha256(head + str((os.path.getsize(path), _OPTIONS)).encode()).hexdigest()[:8]

    def start(self, ptx, target, folder):
        """Starts ptxas. Returns the process and the path of the file that it writes."""
        source, out = (os.path.join(folder, name) for name in ("in.ptx", "out.cubin"))
        with open(source, "w") as f:
            f.write(ptx)
        command = [self.path, *_OPTIONS, f"-arch={target}", source, "-o", out]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE), out

    def assemble(self, texts, target):
        """Returns a cubin for each text; None for a text that ptxas refuses."""
        with tempfile.TemporaryDirectory(prefix="neso-") as folder:
            places = [os.path.join(folder, str(i)) for i in range(len(texts))]
            for place in places:
                os.mkdir(place)
            running = []
            for ptx, place in zip(texts, places):
                try:
                    running.append(self.start(ptx, target, place))
                except OSError as e:
                    running.append(self.complain(str(e)))
            return [self._finish(*x) if x else None for x in running]

    def _finish(self, process, out):
        _, log = process.communicate()
        if process.returncode != 0:
            return self.complain(log.decode(errors="replace").strip()[:200])
        with open(out, "rb") as f:
            return f.read()

    def complain(self, why):
        warnings.warn(f"{self.path} does not assemble PTX of neso's, so that the driver does: {why}", stacklevel=2)


def _candidates():
    """Yields the paths where ptxas may be installed. PyTorch's ptxas comes first, because every driver that PyTorch supports can load its
    cubins."""
    yield os.environ.get("TRITON_PTXAS_PATH")
    yield _beside("torch", "bin", "ptxas")
    yield shutil.which("ptxas")
    yield os.path.join(os.environ.get("CUDA_HOME") or "/usr/local/cuda", "bin", "ptxas")
    for folder in sys.path:  # the original Triton contains ptxas
        yield os.path.join(folder, "triton", "backends", "nvidia", "bin", "ptxas")


def _beside(package, *parts):
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    return os.path.join(os.path.dirname(found.origin), *parts) if found and found.origin else None


def choice():
    """Returns the value of NESO_PTXAS: "off", "always", or "" (has_time() then decides)."""
    word = os.environ.get("NESO_PTXAS", "")
    if word not in ("", "off", "always"):
        raise ValueError(f"NESO_PTXAS: expected off or always, found '{word}'; TRITON_PTXAS_PATH says where ptxas is")
    return word


@functools.lru_cache(None)
def find():
    """Returns the first assembler found, or None. The assembler may be a script that calls ptxas."""
    for path in _candidates():
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return Assembler(path)
    return None


def has_time(uses_gpu):
    """May this thread wait for ptxas? True unless it is the main thread of a process that uses a GPU."""
    word = choice()
    return word == "always" or word == "" and (not uses_gpu or threading.current_thread() is not threading.main_thread())


def digest(ptx):
    return hashlib.sha256(ptx.encode()).hexdigest()


def disassembled(ptx, target):
    """Returns the disassembly of the code that ptxas makes of a text, as cuobjdump prints it. Raises a RuntimeError if a tool is missing."""
    from triton import knobs
    assembler = find()
    code = assembler.assemble([ptx], target)[0] if assembler else None
    if code is None:
        raise RuntimeError("Cannot find ptxas, which asm['sass'] needs: set TRITON_PTXAS_PATH")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as f:
        f.write(code)
        f.flush()
        return subprocess.check_output([knobs.nvidia.cuobjdump.path, "-sass", f.name]).decode()


def codes_of(texts, target, manager, name, may_run):
    """Returns a dict from digests of PTX texts to their cubins. If `may_run`, ptxas assembles the texts that are not in the cache."""
    assembler = find() if choice() != "off" else None
    if assembler is None:
        return {}
    found, missing = {}, []
    for ptx in texts:
        key = digest(ptx)
        path = manager.get_file(f"{name}-{key[:16]}-{assembler.key}.code") if manager else None
        if path:
            with open(path, "rb") as f:
                found[key] = f.read()
        else:
            missing.append(ptx)
    for ptx, code in zip(missing, assembler.assemble(missing, target) if missing and may_run else ()):
        if code is not None:
            found[digest(ptx)] = code
            if manager:
                manager.put(code, f"{name}-{digest(ptx)[:16]}-{assembler.key}.code")
    return found
