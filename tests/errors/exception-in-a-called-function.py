# If a plain function that a kernel calls raises, the report shows the chain of calls, from the launch through the kernel.
import torch
import triton
import triton.language as tl


def check(x, limit):
    if x[0] >= limit:
        raise ValueError(f'program {x} is out of line')


@triton.jit
def inner(pid):
    check(pid, 2)


@triton.jit
def k():
    inner(tl.program_id(0))


k[(4,)]()

# expect: exit 1
# exception-in-a-called-function.py:9:9: error: ValueError: program [2] is out of line [exception]
#     9 |         raise ValueError(f'program {x} is out of line')
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# exception-in-a-called-function.py:14:5: note: in 'check', called here
# exception-in-a-called-function.py:19:5: note: in 'inner', called here
# exception-in-a-called-function.py:22:1: note: in 'k', called here
