# SPDX-License-Identifier: MIT
"""build_wheel.py FOLDER: builds the wheel neso-triton, which contains libneso.so and, if Python's headers are installed, the
extension.

pip calls this file too (`pip install runtime/python`). The build needs only Python, make and a C compiler. The wheel contains a
.pth file. This file makes every Python program of the environment use neso in place of Triton if NESO_TRITON=1 is set.
"""
import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
NAME, VERSION = "neso_triton", "0.1"
PTH = "import os; os.environ.get('NESO_TRITON', '0') not in ('', '0') and __import__('neso.door').door.from_environment()\n"


def make(*targets):
    return subprocess.run(["make", "-s", "-C", ROOT, *targets]).returncode == 0


def stripped(path):
    """Returns a file's bytes, without debug information if the tool `strip` is installed."""
    out = path + ".stripped"
    try:
        done = subprocess.run(["strip", "-o", out, path]).returncode == 0
    except OSError:
        done = False
    with open(out if done else path, "rb") as f:
        data = f.read()
    if done:
        os.remove(out)
    return data


def files(has_extension):
    """Yields (name in the wheel, bytes) for each file of the wheel."""
    package = os.path.join(HERE, "neso")
    for folder, folders, names in os.walk(package):
        folders[:] = sorted(x for x in folders if x not in ("__pycache__", "extension"))
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as f:
                    yield os.path.relpath(os.path.join(folder, name), HERE), f.read()
    yield "neso/libneso.so", stripped(os.path.join(ROOT, os.environ.get("NESO_BUILD", "build"), "libneso.so"))
    if has_extension:
        yield "neso/_launch.abi3.so", stripped(os.path.join(package, "_launch.abi3.so"))
    yield f"{NAME}.pth", PTH.encode()


def metadata():
    return (f"Metadata-Version: 2.1\nName: neso-triton\nVersion: {VERSION}\nSummary: Triton kernels to PTX, without LLVM\n"
            "Requires-Python: >=3.9\n").encode()


def build_wheel(folder, config_settings=None, metadata_directory=None):
    """Builds the wheel in a folder and returns its file name, as PEP 517 specifies."""
    if not make("all"):
        raise SystemExit("neso: `make` failed; the wheel needs libneso.so")
    has_headers = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
    has_extension = has_headers and make("python")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"cp39-abi3-{platform}" if has_extension else f"py3-none-{platform}"
    if not has_extension:
        why = "cannot be built here" if has_headers else "needs Python.h (Debian: python3-dev), which is not found"
        sys.stderr.write(f"neso: the extension {why}: launches from this wheel go through ctypes, and take longer\n")
    name, info = f"{NAME}-{VERSION}-{tag}.whl", f"{NAME}-{VERSION}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: neso\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = []
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in [*files(has_extension), (f"{info}/METADATA", metadata()), (f"{info}/WHEEL", wheel)]:
            z.writestr(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
        z.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
    return name


def build_sdist(folder, config_settings=None):
    raise SystemExit("neso: there is no source distribution of the package alone; take a checkout")


if __name__ == "__main__":
    out = sys.argv[1] if sys.argv[1:] else os.path.join(ROOT, "build")
    print(os.path.join(out, build_wheel(out)))
