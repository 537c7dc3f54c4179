# If the signature is missing, the message explains what a signature is.
# run: compile no-signature.py
import triton
import triton.language as tl


@triton.jit
def k(X, B: tl.constexpr):
    tl.store(X + tl.arange(0, B), 0.0)

# expect: exit 2
# no-signature.py:8:7: error: the signature has no entry for parameter 'X' of 'k' [signature-missing]
#     8 | def k(X, B: tl.constexpr):
#       |       ^
# hint: give each parameter a type or a value, as in "*fp32:16, i32, 1024" or "X=i32"; a file that launches the kernel needs no signature
