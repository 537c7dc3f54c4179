# The constraints of inline assembly must have one register class for each operand, and the register must be wide enough.
# run: compile inline-assembly.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    v = tl.load(x + tl.arange(0, 32))
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "f,f", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,l", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f,f", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f", [v], dtype=tl.float32, is_pure=True, pack=3)
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,r", [v > 0], dtype=tl.float32, is_pure=True, pack=1)
    tl.inline_asm_elementwise("", "", [v], dtype=(), is_pure=True, pack=1)
    tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f", [v], dtype=v, is_pure=True, pack=1)

# expect: exit 2
# inline-assembly.py:10:50: error: the constraints do not fit at '': first results (1), each as '=r', then operands (1), with a register for each 32 bits or element; r and f have 32 bits, h 16, l and d 64 [asm-constraints]
#    10 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f", [v], dtype=tl.float32, is_pure=True, pack=1)
#       |                                                  ^~~~
# inline-assembly.py:11:50: error: the constraints do not fit at 'f,f': first results (1), each as '=r', then operands (1), with a register for each 32 bits or element; r and f have 32 bits, h 16, l and d 64 [asm-constraints]
#    11 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "f,f", [v], dtype=tl.float32, is_pure=True, pack=1)
#       |                                                  ^~~~~
# inline-assembly.py:12:50: error: the constraints do not fit at 'l': first results (1), each as '=r', then operands (1), with a register for each 32 bits or element; r and f have 32 bits, h 16, l and d 64 [asm-constraints]
#    12 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,l", [v], dtype=tl.float32, is_pure=True, pack=1)
#       |                                                  ^~~~~~
# inline-assembly.py:13:50: error: the constraints do not fit at 'f': first results (1), each as '=r', then operands (1), with a register for each 32 bits or element; r and f have 32 bits, h 16, l and d 64 [asm-constraints]
#    13 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f,f", [v], dtype=tl.float32, is_pure=True, pack=1)
#       |                                                  ^~~~~~~~
# inline-assembly.py:14:100: error: pack must be a power of 2 from 1 to 16, found 3 [asm-pack]
#    14 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f", [v], dtype=tl.float32, is_pure=True, pack=3)
#       |                                                                                                    ^
# inline-assembly.py:15:58: error: inline assembly does not take int1: cast it, for example to tl.int32 [asm-type]
#    15 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,r", [v > 0], dtype=tl.float32, is_pure=True, pack=1)
#       |                                                          ^~~~~~~
# inline-assembly.py:16:50: error: inline assembly has 1 to 8 results, and at most 16 operands [asm-many]
#    16 |     tl.inline_asm_elementwise("", "", [v], dtype=(), is_pure=True, pack=1)
#       |                                                  ^~
# inline-assembly.py:17:69: error: expected a type such as tl.float32, found <[32], fp32> [wants-dtype]
#    17 |     tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f", [v], dtype=v, is_pure=True, pack=1)
#       |                                                                     ^
