# SPDX-License-Identifier: MIT
"""triton.runtime.build in neso: nothing is built when a program runs."""


def __getattr__(name):
    raise AttributeError(f"neso builds nothing when a program runs: triton.runtime.build has no '{name}'")
