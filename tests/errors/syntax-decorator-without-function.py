# A decorator must precede a function or class.
@triton.jit
BLOCK = 1024

# expect: exit 2
# syntax-decorator-without-function.py:3:1: error: expected 'def' or 'class' after the decorator, found 'BLOCK' [syntax]
#     3 | BLOCK = 1024
#       | ^~~~~
