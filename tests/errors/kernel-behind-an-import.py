# If a kernel is not found, the message names the reason: here the module of its decorator could not be imported.
# run: compile kernel-behind-an-import.py::decorated --signature "*i32"
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
# kernel-behind-an-import.py:5:1: error: 'my_jit', which decorates 'decorated', comes from a module that is not found in this file's folder [kernel-decorator]
#     5 | from missing_helpers import my_jit, scale
#       | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# kernel-behind-an-import.py:11:1: note: 'decorated' is defined here
