# If an option has an unknown value, the message lists the valid values.
# run: compile unknown-options.py::k --signature "*fp32:16" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(X):
    i = tl.arange(0, 16)
    tl.load(X + i, cache_modifier=".wb")
    x = tl.full((16,), 1.0, tl.float32)
    tl.store(X + i, x, eviction_policy="first")
    tl.atomic_add(X + i, x, sem="seq_cst")
    tl.atomic_add(X + i, x, scope="system")
    y = tl.broadcast_to(x[None, :], (16, 16))
    tl.dot(y, y, input_precision="fp32")
    tl.cast(y, tl.float16, fp_downcast_rounding="up")
    tl.dot(y.to(tl.int32), y.to(tl.int32))

# expect: exit 2
# unknown-options.py:10:35: error: unknown cache modifier '.wb': expected '.ca', '.cg', '.cs' or '.cv' [cache-word]
#    10 |     tl.load(X + i, cache_modifier=".wb")
#       |                                   ^~~~~
# unknown-options.py:12:40: error: unknown eviction policy 'first': expected 'evict_normal', 'evict_first' or 'evict_last' [evict-word]
#    12 |     tl.store(X + i, x, eviction_policy="first")
#       |                                        ^~~~~~~
# unknown-options.py:13:33: error: unknown memory semantic 'seq_cst': expected 'acq_rel', 'acquire', 'release' or 'relaxed' [sem-word]
#    13 |     tl.atomic_add(X + i, x, sem="seq_cst")
#       |                                 ^~~~~~~~~
# unknown-options.py:14:35: error: unknown memory scope 'system': expected 'gpu', 'cta' or 'sys' [scope-word]
#    14 |     tl.atomic_add(X + i, x, scope="system")
#       |                                   ^~~~~~~~
# unknown-options.py:16:34: error: unknown input precision 'fp32': expected 'tf32', 'tf32x3', 'ieee', 'bf16x3' or 'bf16x6' [precision-word]
#    16 |     tl.dot(y, y, input_precision="fp32")
#       |                                  ^~~~~~
# unknown-options.py:17:49: error: unknown rounding mode 'up': expected 'rtne' or 'rtz' [round-word]
#    17 |     tl.cast(y, tl.float16, fp_downcast_rounding="up")
#       |                                                 ^~~~
# unknown-options.py:18:5: error: tl.dot takes floats and int8, found int32 [dot-type]
#    18 |     tl.dot(y.to(tl.int32), y.to(tl.int32))
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
