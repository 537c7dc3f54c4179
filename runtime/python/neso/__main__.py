# SPDX-License-Identifier: MIT
"""python -m neso [run] [OPTION...] PROGRAM ARGS, or python -m neso -m MODULE ARGS: runs a program with neso in place of Triton."""
import os
import runpy
import sys

from . import door, recording

HELP = """python -m neso [run] [OPTION...] PROGRAM.py [ARG...]    run a program with neso in place of Triton
python -m neso [run] [OPTION...] -m MODULE [ARG...]     the same for a module: -m pytest tests

  --device NAME   where kernels run: cuda, interpreter, emulator, or best (the default: cuda, or without a GPU the interpreter)
  --check         run every launch with the original Triton too, and compare the results; exit status 1 if they differ
  --paranoid      before a kernel's first launch, compare its PTX in the emulator with the interpreter, on the launch's inputs and on random
                  ones. After a difference, a warning names the pass, and launches run code without that pass
  --record FILE   write a record of each compiled kernel, for `neso bundle FILE`; the kernels' sources are written to FILE.sources
  --help          this text

Environment: NESO_CAPSULE=on, or a folder, writes launches that fail, and inputs for which --paranoid finds differences, to files for `neso replay`;
NESO_DEVICE is like --device; NESO_PARANOID=1 (or verbose) is like --paranoid; NESO_RECORD is like --record, but appends to the file; if pip has installed neso,
NESO_TRITON=1 makes every Python program use neso; NESO_FALLBACK=triton runs kernels that neso refuses with the original Triton, and lists them at the end;
NESO_PTXAS=off never runs ptxas, NESO_PTXAS=always runs it for torch.compile on the main thread too, and TRITON_PTXAS_PATH is its path; NESO_LIBRARY is the path of
libneso.so if it is not in the package; NESO_CACHE=off turns the cache of compiled kernels off.
"""


VALUES = {"--device": "a name: cuda, interpreter, emulator or best", "--record": "a file"}


def fail(text):
    sys.stderr.write(f"neso: {text}\n")
    sys.exit(2)


def options(args):
    """Sets the environment from the options before the program, and returns the other arguments."""
    while args and args[0].startswith("-") and args[0] != "-m":
        word, _, value = args.pop(0).partition("=")
        if word in ("-h", "--help"):
            sys.stdout.write(HELP)
            sys.exit(0)
        if word == "--check":
            os.environ["NESO_CHECK"] = "1"
            continue
        if word == "--paranoid":
            os.environ["NESO_PARANOID"] = "1"
            continue
        if word not in VALUES:
            fail(f"unknown option '{word}'; `python -m neso --help` lists them")
        if not value and not args:
            fail(f"{word} needs {VALUES[word]}")
        value = value or args.pop(0)
        if word == "--record":
            recording.start(value)
        else:
            os.environ["NESO_DEVICE"] = value
    return args


def main():
    args = options(sys.argv[2:] if sys.argv[1:2] == ["run"] else sys.argv[1:])
    if not args or args == ["-m"]:
        fail("expected a program or -m MODULE; `python -m neso --help` says more")
    door.install()
    if args[0] == "-m":
        sys.argv = args[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(args[0]):
        fail(f"there is no file '{args[0]}'")
    sys.argv = args
    sys.path.insert(0, os.path.dirname(os.path.abspath(args[0])))
    runpy.run_path(args[0], run_name="__main__")


main()
