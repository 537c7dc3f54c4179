# The result of a plain function is a host object; the kernel must convert it by int() or float() to use it as a number.
import torch
import triton
import triton.language as tl


def double(x):
    return {'twice': 2 * x}['twice'][0]


@triton.jit
def k(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, float(double(x)))
    y = double(x) * 2.0
    tl.store(x_ptr, double(x))


k[(1,)](torch.zeros(1))

# expect: exit 2
# result-of-plain-python.py:15:19: error: unsupported operand type(s) for *: 'result of a plain Python function (int() or float() makes it a number)' and 'float' [operand-types]
#    15 |     y = double(x) * 2.0
#       |                   ^
# result-of-plain-python.py:16:21: error: value of tl.store must be a tensor or a number, found result of a plain Python function (int() or float() makes it a number) [wants-tensor]
#    16 |     tl.store(x_ptr, double(x))
#       |                     ^~~~~~~~~
# result-of-plain-python.py:19:1: note: launched here, with x_ptr=*fp32:16
