# SPDX-License-Identifier: MIT
"""interpret.py PROGRAM [ARG...]: runs a program in Triton's interpreter, as TRITON_INTERPRET=1 does, and works around a defect of
Triton 3.6.

Triton's interpreter represents a scalar as an array of one element. `range(n)` and `torch.Size((n,))` call the tensor's `__index__`,
which calls int() on that array; NumPy rejects that from version 2.4 on ("only 0-dimensional arrays can be converted to Python scalars").
"""
import os
import runpy
import sys

os.environ['TRITON_INTERPRET'] = '1'

from triton.runtime import interpreter  # reads TRITON_INTERPRET

patch_tensor = interpreter._patch_lang_tensor


def patch_tensor_and_index(tensor, scope):
    patch_tensor(tensor, scope)
    scope.set_attr(tensor, '__index__', lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = patch_tensor_and_index
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name='__main__')
