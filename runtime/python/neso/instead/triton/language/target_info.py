# SPDX-License-Identifier: MIT
"""triton.language.target_info in neso: functions that query the target for which a kernel is
compiled."""
from ..runtime.jit import constexpr_function

__all__ = ["current_target"]


def current_target():
    from ..runtime.driver import driver
    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None


@constexpr_function
def is_cuda():
    target = current_target()
    return target is not None and target.backend == "cuda"


@constexpr_function
def cuda_capability_geq(major, minor=0):
    target = current_target()
    return target is not None and target.backend == "cuda" and target.arch >= major * 10 + minor


@constexpr_function
def is_hip():
    target = current_target()
    return target is not None and target.backend == "hip"


@constexpr_function
def is_hip_cdna3():
    return is_hip() and current_target().arch == "gfx942"


@constexpr_function
def is_hip_cdna4():
    return is_hip() and current_target().arch == "gfx950"
