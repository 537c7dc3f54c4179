# SPDX-License-Identifier: MIT
"""_absent.py: gives the reason why a module of Triton cannot be imported. Each such import raises ModuleNotFoundError, as for a module that does not
exist."""
import sys

_EMBED = "`neso compile --emit c` writes C source with a compiled kernel and the functions that load and launch it"
_MLIR = "neso has no MLIR; `neso compile --emit ir` prints its own intermediate code, and a compiled kernel's asm has 'ptx', 'cubin' and 'sass'"

ABSENT = {
    "triton._filecheck": _MLIR,
    "triton.backends.amd": "neso compiles for NVIDIA's GPUs only",
    "triton.compiler.code_generator": _MLIR,
    "triton.compiler.make_launcher": "neso's launches need no compiled launcher",
    "triton.experimental.gluon": "neso chooses layouts, memory and asynchronous instructions itself; Gluon's kernels cannot be compiled",
    "triton.instrumentation": _MLIR,
    "triton.language.semantic": "a kernel's operations are methods of neso's library, not of Python; a function for kernels can be made by @triton.jit",
    "triton.ops": "Triton does not have it any more; the functions were moved to other projects",
    "triton.profiler.language": "neso's PTX has no instrumentation; Nsight Compute shows the time of each line (neso writes line numbers)",
    "triton.tools.build_extern": _MLIR,
    "triton.tools.compile": _EMBED,
    "triton.tools.experimental_descriptor": "Triton does not have it any more; its successor is triton.tools.tensor_descriptor",
    "triton.tools.link": _EMBED,
    "triton.tools.triton_to_gluon_translater": "neso has no triton.experimental.gluon",
}


class AbsentModules:
    """The last finder on sys.meta_path: it gives the reason in the error of an import that no other finder serves. importlib.util.find_spec gets
    None, as for every module that does not exist."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        reason = ABSENT.get(name)
        if reason is None or sys._getframe(2).f_globals.get("__name__") != "importlib._bootstrap":
            return None
        raise ModuleNotFoundError(f"neso's triton has no module '{name}': {reason}")  # with a name, `from a import b` would hide the reason


def install():
    if AbsentModules not in sys.meta_path:
        sys.meta_path.append(AbsentModules)
