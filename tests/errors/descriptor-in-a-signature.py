# A tensor descriptor in a signature must have a type and sizes.
# run: compile descriptor-in-a-signature.py::k --signature "tensordesc<fp16>" --emit ir
import triton


@triton.jit
def k(d):
    d.store([0], d.load([0]))

# expect: exit 2
# signature:1:1: error: parameter 'd' cannot take this: a tensor descriptor is written tensordesc<fp16[128, 64]>, a type and a list of sizes, or tensordesc<fp16[128, 64], nan>, or with promises for two sizes and a stride tensordesc<fp16[128, 64], 16 - 16> [signature-descriptor]
#     1 | tensordesc<fp16>
#       | ^~~~~~~~~~~~~~~~
