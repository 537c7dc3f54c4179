# SPDX-License-Identifier: MIT
"""triton.runtime.interpreter in neso: if TRITON_INTERPRET=1 is set, kernels run on neso's interpreter, on the
CPU."""
from .jit import JITFunction


class InterpretedFunction(JITFunction):
    """A kernel that the interpreter runs; tensors on a GPU are copied to the CPU and back."""
    device = "interpreter"
