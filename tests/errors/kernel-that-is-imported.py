# If a kernel is not found, the message names the reason: here the module that contains the kernel could not be imported.
# run: compile kernel-that-is-imported.py::gamma --signature "*i32"
import triton
import triton.language as tl
from missing_helpers import my_jit, scale
from other import (alpha,
                   beta as gamma)


@my_jit
def decorated(x):
    tl.store(x, 1)


class Ops:
    @staticmethod
    @triton.jit
    def inside(x):
        tl.store(x, 1)


def make(n):
    @triton.jit
    def made(x):
        tl.store(x, 1)
    return made

# expect: exit 2
# kernel-that-is-imported.py:6:1: error: 'gamma' comes from a module that is not found in this file's folder [kernel-imported]
#     6 | from other import (alpha,
#       | ^~~~~~~~~~~~~~~~~~~~~~~~~
