# SPDX-License-Identifier: MIT
"""python -m neso [run] [OPTION...] PROGRAM ARGS, or python -m neso -m MODULE ARGS: runs a program with neso in place of Triton."""
import os
import runpy
import sys

from . import door, recording

HELP = """python -m neso [run] [OPTION...] PROGRAM.py [ARG...]    run a program with neso in place of Triton
python -m neso [run] [OPTION...] -m MODULE [ARG...]     the same for a module: -m pytest tests

  --device NAME   where kernels run: cuda, interpreter, emulator, or best (the default: cuda, or without a GPU the interpreter)
  --check         run every launch by the original Triton too, and compare what they write; exit status 1 where they differ
  --paranoid      before a kernel's first launch, compare its PTX in the emulator with the interpreter, on this launch's and on drawn inputs:
                  a difference is a warning that names the pass, and launches run code without that pass
  --record FILE   write a record of each kernel that is compiled, for `neso bundle FILE`; the kernels' sources are kept in FILE.sources
  --help          this text

Environment: NESO_CAPSULE=on, or a folder, keeps launches that fail, and the inputs of differences that --paranoid finds, as files for `neso replay`;
NESO_DEVICE is --device; NESO_PARANOID=1 (or verbose) is --paranoid; NESO_RECORD is --record, and appends; NESO_TRITON=1 does all this for every Python program, where neso is installed by pip;
NESO_FALLBACK=triton runs kernels that neso refuses by the original Triton, and says at the end which; NESO_PTXAS=off never runs ptxas, NESO_PTXAS=always
runs it for torch.compile on the main thread too, and TRITON_PTXAS_PATH is its path; NESO_LIBRARY is libneso.so, where it does not lie in the package; NESO_CACHE=off keeps nothing of what was compiled.
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
