# runs: interpreter
# Tests tl.device_print: one line per element, signed and unsigned types, hexadecimal digits, several operands.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    pid = tl.program_id(0)
    i = tl.arange(0, 4)
    tl.device_print("here")
    tl.device_print("x", tl.load(x_ptr + i))
    tl.device_print("bytes=", (i - 1).to(tl.uint8), (i - 1).to(tl.int8))
    tl.device_print("long: ", (pid - 1).to(tl.uint64, bitcast=False), (pid - 1).to(tl.int64))
    tl.device_print("hex", i * 1000 - 1, hex=True)
    tl.device_print("2d:", tl.reshape(i, (2, 2)) > 1)


k[(1,)](torch.tensor([0.5, -1.0, 3.25, 1e10], device='cuda'))

# expect:
# pid (0, 0, 0)here
# pid (0, 0, 0) idx (0) x: 0.500000
# pid (0, 0, 0) idx (1) x: -1.000000
# pid (0, 0, 0) idx (2) x: 3.250000
# pid (0, 0, 0) idx (3) x: 10000000000.000000
# pid (0, 0, 0) idx (0) bytes=: (operand 0) 255
# pid (0, 0, 0) idx (1) bytes=: (operand 0) 0
# pid (0, 0, 0) idx (2) bytes=: (operand 0) 1
# pid (0, 0, 0) idx (3) bytes=: (operand 0) 2
# pid (0, 0, 0) idx (0) bytes=: (operand 1) -1
# pid (0, 0, 0) idx (1) bytes=: (operand 1) 0
# pid (0, 0, 0) idx (2) bytes=: (operand 1) 1
# pid (0, 0, 0) idx (3) bytes=: (operand 1) 2
# pid (0, 0, 0) idx () long: (operand 0) 18446744073709551615
# pid (0, 0, 0) idx () long: (operand 1) -1
# pid (0, 0, 0) idx (0) hex: 0xffffffff
# pid (0, 0, 0) idx (1) hex: 0x000003e7
# pid (0, 0, 0) idx (2) hex: 0x000007cf
# pid (0, 0, 0) idx (3) hex: 0x00000bb7
# pid (0, 0, 0) idx (0, 0) 2d: 0
# pid (0, 0, 0) idx (0, 1) 2d: 0
# pid (0, 0, 0) idx (1, 0) 2d: 1
# pid (0, 0, 0) idx (1, 1) 2d: 1
