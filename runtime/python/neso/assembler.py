# SPDX-License-Identifier: MIT
"""assembler.py: ptxas, where it is found, assembles PTX ahead of a launch, in a process of its own.

    PTX of a kernel, of its variants ─► ptxas, all at once ─► cubins ─► a cache folder ─► neso_kernel_load_code

The driver assembles as well as ptxas, but one text after another. So triton.compile asks ptxas where others work meanwhile: in a compile
worker, in a thread, or where no GPU is in use. On the main thread of a program that uses its GPU the driver assembles: it needs no
process. NESO_PTXAS=off always leaves it to the driver, NESO_PTXAS=always never.

nvJitLink does not serve: it makes relocatable code, in which setmaxnreg has no effect.
"""
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import threading
import warnings

_OPTIONS = ("-lineinfo",)


class Assembler:
    """One ptxas. `key` tells it from others: a digest of the head of the file, its size and the options."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            head = f.read(1 << 16)
        self.key = hashlib.sha256(head + str((os.path.getsize(path), _OPTIONS)).encode()).hexdigest()[:8]

    def start(self, ptx, target, folder):
        """A process that assembles, and the file that it writes."""
        source, out = (os.path.join(folder, name) for name in ("in.ptx", "out.cubin"))
        with open(source, "w") as f:
            f.write(ptx)
        command = [self.path, *_OPTIONS, f"-arch={target}", source, "-o", out]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE), out

    def assemble(self, texts, target):
        """A cubin for each text; None where ptxas refuses it."""
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
    """Paths where ptxas may be; that of PyTorch first, since PyTorch needs a driver that loads what it makes."""
    yield os.environ.get("TRITON_PTXAS_PATH")
    yield _beside("torch", "bin", "ptxas")
    yield shutil.which("ptxas")
    yield os.path.join(os.environ.get("CUDA_HOME") or "/usr/local/cuda", "bin", "ptxas")


def _beside(package, *parts):
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    return os.path.join(os.path.dirname(found.origin), *parts) if found and found.origin else None


def choice():
    """off, always, or "" for where it pays."""
    word = os.environ.get("NESO_PTXAS", "")
    if word not in ("", "off", "always"):
        raise ValueError(f"NESO_PTXAS: expected off or always, found '{word}'; TRITON_PTXAS_PATH says where ptxas is")
    return word


@functools.lru_cache(None)
def find():
    """The assembler, or None. A script around ptxas will do as well."""
    for path in _candidates():
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return Assembler(path)
    return None


def has_time(uses_gpu):
    """Does nobody wait for what this thread compiles, so that a process of ptxas costs nothing?"""
    word = choice()
    return word == "always" or word == "" and (not uses_gpu or threading.current_thread() is not threading.main_thread())


def digest(ptx):
    return hashlib.sha256(ptx.encode()).hexdigest()


def codes_of(texts, target, manager, name, may_run):
    """{digest of a text: its cubin}, for the texts whose cubins are in the cache, or that ptxas assembles now if it may run."""
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
