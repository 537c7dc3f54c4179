# If a constant is needed, but a name has a run-time value, the message shows where the name got this value.
# run: compile constexpr-made-run-time.py --signature '*fp32, 16'
import triton
import triton.language as tl


@triton.jit
def k(X, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    BLOCK = BLOCK + pid
    tl.store(X + tl.arange(0, BLOCK), 0.0)

# expect: exit 2
# constexpr-made-run-time.py:11:31: error: the end of tl.arange must be a constant, found a run-time value [not-constant]
#    11 |     tl.store(X + tl.arange(0, BLOCK), 0.0)
#       |                               ^~~~~
# constexpr-made-run-time.py:10:19: note: it is computed here, when the kernel runs
# hint: a constant is a tl.constexpr parameter, or computed from constants alone
