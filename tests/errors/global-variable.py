# As in Triton, a kernel must not use globals that are not constexprs: numbers, strings, lists, and variables of an
# enclosing function. It may use globals that are constexprs, defaults of parameters, modules, types and functions.
# run: compile global-variable.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl

N = 32
GOOD = tl.constexpr(32)
ANNOTATED: tl.constexpr = 32
NAME = "leaky"
SIZES = [1, 2]
DTYPE = tl.float32
NOTHING = None


@triton.jit
def helper(x, n: tl.constexpr = N):
    return x + n + GOOD


def around():
    M = 3

    @triton.jit
    def inner(x):
        return x + M
    return inner


inner = around()


@triton.jit
def k(x):
    i = tl.arange(0, GOOD)
    y = helper(i).to(DTYPE)
    if NOTHING is None:
        tl.store(x + i, y)
    tl.store(x + tl.arange(0, N), y)
    tl.store(x + i, y + ANNOTATED)
    if NAME == "leaky":
        tl.store(x + i, y * SIZES[0])
    tl.store(x + i, inner(y))
    N = 5
    tl.store(x + i, y + N)

# expect: exit 2
# global-variable.py:39:31: error: 'N' is a global variable but not a constexpr: a compiled kernel would not notice that its value changes [global]
#    39 |     tl.store(x + tl.arange(0, N), y)
#       |                               ^
# hint: write `N = tl.constexpr(...)` where it is defined (an annotation does not suffice), or pass it to the kernel as a tl.constexpr parameter
# global-variable.py:40:25: error: 'ANNOTATED' is a global variable but not a constexpr: a compiled kernel would not notice that its value changes [global]
#    40 |     tl.store(x + i, y + ANNOTATED)
#       |                         ^~~~~~~~~
# hint: write `ANNOTATED = tl.constexpr(...)` where it is defined (an annotation does not suffice), or pass it to the kernel as a tl.constexpr parameter
# global-variable.py:41:8: error: 'NAME' is a global variable but not a constexpr: a compiled kernel would not notice that its value changes [global]
#    41 |     if NAME == "leaky":
#       |        ^~~~
# hint: write `NAME = tl.constexpr(...)` where it is defined (an annotation does not suffice), or pass it to the kernel as a tl.constexpr parameter
# global-variable.py:26:20: error: 'M' is a global variable but not a constexpr: a compiled kernel would not notice that its value changes [global]
#    26 |         return x + M
#       |                    ^
#       in inner, called at global-variable.py:43:21
# hint: write `M = tl.constexpr(...)` where it is defined (an annotation does not suffice), or pass it to the kernel as a tl.constexpr parameter
