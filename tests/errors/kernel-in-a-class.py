# A kernel inside of a class cannot be compiled by name.
# run: compile kernel-in-a-class.py::inside --signature "*i32"
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
# kernel-in-a-class.py:18:9: error: kernel 'inside' is inside class 'Ops': only kernels at the top level of a file can be compiled by name [kernel-inside]
#    18 |     def inside(x):
#       |         ^~~~~~
