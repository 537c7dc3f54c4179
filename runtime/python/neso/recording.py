# SPDX-License-Identifier: MIT
"""recording.py: writes a record of each kernel that a program compiles, for `neso bundle`; NESO_RECORD names the file.

A record names a file with the kernel's source. In Python, a kernel's modules are texts (source.py), so recording.py writes them to files:
it makes a folder FILE.sources/DIGEST for each set of modules. Several processes may append to one record.
"""
import os

HEAD = "neso record 1\n"


def start(path):
    """Creates an empty file. Child processes append to it too."""
    path = os.path.abspath(path)
    with open(path, "w") as f:
        f.write(HEAD + "\n")
    os.environ["NESO_RECORD"] = path


def is_on():
    return bool(os.environ.get("NESO_RECORD"))


def keep(kernel, file, main, texts, digest):
    """Appends the record of a kernel of the program's `file`, whose module is texts[main]. The copy of the module has the name of `file`,
    because the record's digest covers this name."""
    path = os.path.abspath(os.environ["NESO_RECORD"])
    folder = os.path.join(path + ".sources", digest)
    os.makedirs(folder, exist_ok=True)
    kept = os.path.join(folder, os.path.basename(file))
    for name, text in texts.items():
        with open(kept if name == main else os.path.join(folder, name + ".py"), "w") as f:
            f.write(text)
    lines = [f"file {kept}" if line.startswith("file ") else line for line in kernel.text("record").splitlines()]
    try:
        with open(path, "x") as f:
            f.write(HEAD + "\n")
    except FileExistsError:
        pass
    with open(path, "a") as f:
        f.write("\n".join(lines).strip("\n") + "\n\n")
