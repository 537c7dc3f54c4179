# SPDX-License-Identifier: MIT
"""triton.backends.nvidia.compiler in neso: the options of a kernel, and the names of targets."""
import os
import hashlib
from dataclasses import dataclass, fields
from typing import Optional, Tuple

from ... import knobs
from ..compiler import BaseBackend

# neso's target for each compute capability. Any other capability gets the target of the largest listed capability
# below it.
TARGETS = {80: "sm_80", 86: "sm_86", 89: "sm_89", 90: "sm_90a", 100: "sm_100a", 120: "sm_120a"}


def sm_arch_from_capability(capability):
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


def target_name(arch):
    """Returns neso's name for a GPUTarget's arch."""
    known = [n for n in TARGETS if n <= int(arch)]
    if not known:
        raise RuntimeError(f"neso compiles for compute capability 8.0 and above, not {int(arch) / 10}")
    return TARGETS[known[-1]]


@dataclass(frozen=True)
class CUDAOptions:
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: Optional[int] = None
    cluster_dims: Tuple[int, int, int] = (1, 1, 1)
    ptx_version: Optional[int] = None
    ptx_options: Optional[str] = None
    ir_override: Optional[str] = None
    enable_fp_fusion: bool = True
    deterministic: bool = False  # only in neso: the order of additions does not depend on the grid or the number of warps
    fp_reassoc: bool = False  # only in neso: the compiler may reassociate additions and multiplications of floats
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: Tuple[str, ...] = ("fp8e4nv", "fp8e5")
    deprecated_fp8_dot_operand_dtypes: Tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: Tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: Optional[tuple] = None
    debug: bool = False
    backend_name: str = "cuda"
    sanitize_overflow: bool = True
    arch: Optional[str] = None
    instrumentation_mode: str = ""

    def __post_init__(self):
        if self.num_warps <= 0 or self.num_warps & (self.num_warps - 1):
            raise AssertionError("num_warps must be a power of 2")
        if isinstance(self.extern_libs, dict):
            object.__setattr__(self, "extern_libs", tuple(self.extern_libs.items()))

    def hash(self):
        return hashlib.sha256("_".join(f"{k}-{x}" for k, x in sorted(self.__dict__.items())).encode()).hexdigest()


class CUDABackend(BaseBackend):
    binary_ext = "cubin"
    option_names = frozenset(f.name for f in fields(CUDAOptions))

    @staticmethod
    def supports_target(target):
        return target.backend == "cuda"

    def parse_options(self, opts):
        given = {k: x for k, x in opts.items() if k in self.option_names and x is not None}
        given.setdefault("arch", knobs.runtime.override_arch or f"sm{self.target.arch}")
        given.setdefault("enable_fp_fusion", knobs.language.default_fp_fusion)
        given.setdefault("deterministic", os.environ.get("NESO_DETERMINISTIC", "0") not in ("", "0"))
        given.setdefault("fp_reassoc", os.environ.get("NESO_FP_REASSOC", "0") not in ("", "0"))
        if int(self.target.arch) >= 100:
            given.setdefault("max_num_imprecise_acc_default", 0)
        elif int(self.target.arch) == 90:
            given.setdefault("max_num_imprecise_acc_default", 2**30)
        return CUDAOptions(**given)

    def pack_metadata(self, metadata):
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_codegen_implementation(self, options):
        return {}

    def get_module_map(self):
        from ...language.extra import libdevice
        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context):
        """Does nothing: neso has no dialects."""

    def hash(self):
        return f"neso-{target_name(self.target.arch)}"
