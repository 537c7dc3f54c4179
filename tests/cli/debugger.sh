# SPDX-License-Identifier: MIT
# Tests the debugger: expressions (calls of the language, helper functions, items, errors with their location), conditions of breakpoints,
# list, Enter, and stopping where a value first becomes a NaN.
fail=0
say() { echo "$*"; fail=1; }

cat >shows.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def half(x):
    y = x * 0.5
    return y

@triton.jit
def below(x, axis: tl.constexpr):
    return x - tl.max(x, axis=axis)

def plain(x, k):
    return [float(v) + k for v in x]

@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    x = tl.load(x_ptr + offs, m)
    t = tl.reshape(x, (2, BLOCK // 2))
    for i in range(2):
        x = half(x) + i
    tl.store(x_ptr + offs, x, m)

x = torch.arange(14, dtype=torch.float32)
k[(2,)](x, 14, BLOCK=8)
print('done')
PY
session() { # ARGUMENTS...; commands on standard input: prints each command, and after it the answer
    cat >commands
    "$NESO" run "$@" <commands >out 2>err
    status=$?
    awk 'BEGIN { while ((getline line <"commands") > 0) command[++m] = line }
         { while (sub(/^\(neso\) /, "")) print "(neso) " command[++n]
           if ($0 != "") print }' out >shown
}
shows() { # expected lines on standard input
    cat >want
    diff want shown >differs || say "$1: $(cat differs; cat err)"
}

session --break shows.py:24@1 shows.py <<'TEXT'
p tl.sum(x, 0)
p tl.max(t, axis=1)
p tl.max(t, axis=1)[1] - x[0] * 2
p (x > 9).to(tl.int32)
p tl.where(m, x, -1)
p half(x), n
p below(x, 0)
p plain(x, 1)
p tl.cumsum(offs, 0)
p tl.program_id(0), tl.num_programs(0)
p tl.load(x_ptr + offs, m, other=7)
p x_ptr + offs[:2]
p x[1:4]
p t[1, :2], t[:, -1], t[1]
p x[pid], offs[None, :].shape
p sorted(x)[:3]
p (x > 3).any()
p f'{n} of {BLOCK}'
p x.dtype, offs // 3
tl.sum(x, 0) / 2
p tl.store(x_ptr, 5.0)
p tl.load(x_ptr)
q
TEXT
shows "expressions" <<'TEXT'
> shows.py:24 in k, program (1, 0, 0)
      for i in range(2):
(neso) p tl.sum(x, 0)
63.0
(neso) p tl.max(t, axis=1)
[11. 13.]
(neso) p tl.max(t, axis=1)[1] - x[0] * 2
-3.0
(neso) p (x > 9).to(tl.int32)
[0 0 1 1 1 1 0 0]
(neso) p tl.where(m, x, -1)
[ 8.  9. 10. 11. 12. 13. -1. -1.]
(neso) p half(x), n
([4.  4.5 5.  5.5 6.  6.5 0.  0. ], 14)
(neso) p below(x, 0)
[ -5.  -4.  -3.  -2.  -1.   0. -13. -13.]
(neso) p plain(x, 1)
[9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 1.0, 1.0]
(neso) p tl.cumsum(offs, 0)
[ 8 17 27 38 50 63 77 92]
(neso) p tl.program_id(0), tl.num_programs(0)
(1, 2)
(neso) p tl.load(x_ptr + offs, m, other=7)
[ 8.  9. 10. 11. 12. 13.  7.  7.]
(neso) p x_ptr + offs[:2]
x_ptr, float32[14], at offset [8 9]
(neso) p x[1:4]
[ 9. 10. 11.]
(neso) p t[1, :2], t[:, -1], t[1]
([12. 13.], [11.  0.], [12. 13.  0.  0.])
(neso) p x[pid], offs[None, :].shape
(9.0, (1, 8))
(neso) p sorted(x)[:3]
[0.0, 0.0, 8.0]
(neso) p (x > 3).any()
True
(neso) p f'{n} of {BLOCK}'
'[14] of 8'
(neso) p x.dtype, offs // 3
(fp32, [2 3 3 3 4 4 4 5])
(neso) tl.sum(x, 0) / 2
31.5
(neso) p tl.store(x_ptr, 5.0)
None
(neso) p tl.load(x_ptr)
5.0
(neso) q
TEXT
[ $status = 1 ] || say "quit: exit $status"

# Each error message has a location, and the session continues.
session --break shows.py:24@1 shows.py <<'TEXT'
p tl.sum(x, 5)
p below(t, 1)
p x + offs[:4]
p tl.sum(x[1:4], 0)
p tl.load(x_ptr + offs)
p tl.sum(nothing, 0)
p plain(1)
p x[
p x[8]
p not x
p 1 if x else 2
p k[(1,)](x_ptr, n, BLOCK=8)
p pid
c
TEXT
shows "errors" <<'TEXT'
> shows.py:24 in k, program (1, 0, 0)
      for i in range(2):
(neso) p tl.sum(x, 5)
<expression>:1:11: error: the axis 5 is out of range for a tensor of rank 1 [axis-range]
    1 | tl.sum(x, 5)
      |           ^
(neso) p below(t, 1)
shows.py:12:14: error: shapes do not broadcast: dimension 1 is 4 against 2 [shape-broadcast]
   12 |     return x - tl.max(x, axis=axis)
      |              ^
      in below, called at <expression>:1:1
shows.py:12:16: note: this operand has shape [2]
shows.py:12:14: note: the operands have shapes [2, 4] and [2]
(neso) p x + offs[:4]
<expression>:1:3: error: shapes do not broadcast: dimension 0 is 8 against 4 [shape-broadcast]
    1 | x + offs[:4]
      |   ^
<expression>:1:3: note: the operands have shapes [8] and [4]
(neso) p tl.sum(x[1:4], 0)
<expression>:1:8: error: the size of a slice in a call of the language must be a power of two, found 3 [slice-size]
    1 | tl.sum(x[1:4], 0)
      |        ^~~~~~
(neso) p tl.load(x_ptr + offs)
<expression>:1:1: error: access out of bounds in program (1, 0, 0): element 6 of the tile is index 14 of 'x_ptr', which is float32[14]; 2 of the 8 elements accessed are outside [out-of-bounds]
    1 | tl.load(x_ptr + offs)
      | ^~~~~~~~~~~~~~~~~~~~~
(neso) p tl.sum(nothing, 0)
<expression>:1:8: error: name 'nothing' is not defined [name]
    1 | tl.sum(nothing, 0)
      |        ^~~~~~~
(neso) p plain(1)
<expression>:1:1: error: TypeError: plain() missing 1 required positional argument: 'k' [exception]
    1 | plain(1)
      | ^~~~~~~~
(neso) p x[
<expression>:1:2: error: '[' was never closed [bracket-unclosed]
    1 | x[
      |  ^
(neso) p x[8]
<expression>:1:1: error: tensor index out of range [index-range]
    1 | x[8]
      | ^~~~
(neso) p not x
<expression>:1:1: error: 'not' does not take operands of type <[8], fp32> [operator-type]
    1 | not x
      | ^~~~~
hint: compare with zero first: `x != 0`
(neso) p 1 if x else 2
<expression>:1:6: error: the truth of a block of shape [8] is ambiguous: a condition must be a scalar [condition-block]
    1 | 1 if x else 2
      |      ^
hint: reduce it: `tl.max(x, 0)`; or choose by element: tl.where
(neso) p k[(1,)](x_ptr, n, BLOCK=8)
<expression>:1:1: error: a kernel cannot launch 'k'; it can call it, as a function [launch-in-kernel]
    1 | k[(1,)](x_ptr, n, BLOCK=8)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~
(neso) p pid
1
(neso) c
done
TEXT
[ $status = 0 ] || say "after errors: exit $status"

session --break shows.py:21 shows.py <<'TEXT'
b 7 if tl.sum(x, 0) > 15
b 26, tl.max(below(x, 0), 0) < 0
tbreak 24 if x > 3
b 99
b
c
n
c
u
p tl.sum(x, 0), i
d
p i
clear 1
c
TEXT
shows "breakpoints" <<'TEXT'
> shows.py:21 in k, program (0, 0, 0)
      m = offs < n
(neso) b 7 if tl.sum(x, 0) > 15
  breakpoint 1 at line 7
(neso) b 26, tl.max(below(x, 0), 0) < 0
  breakpoint 2 at line 26
(neso) tbreak 24 if x > 3
  breakpoint 3 at line 24
(neso) b 99
  breakpoint 4 at line 99, where this kernel has no statement
(neso) b
  1: shows.py:7 if tl.sum(x, 0) > 15
  2: shows.py:26 if tl.max(below(x, 0), 0) < 0
  3: shows.py:24, once if x > 3
  4: shows.py:99
(neso) c
  breakpoint 3: the condition is a tile of 8 elements, for example tl.max makes one value of it
> shows.py:24 in k, program (0, 0, 0)
      for i in range(2):
(neso) n
> shows.py:25 in k, program (0, 0, 0)
      x = half(x) + i
(neso) c
> shows.py:7 in half, program (0, 0, 0)
      y = x * 0.5
(neso) u
> shows.py:25 in k
      x = half(x) + i
(neso) p tl.sum(x, 0), i
(28.0, 0)
(neso) d
> shows.py:7 in half
      y = x * 0.5
(neso) p i
<expression>:1:1: error: name 'i' is not defined [name]
    1 | i
      | ^
(neso) clear 1
  2: shows.py:26 if tl.max(below(x, 0), 0) < 0
  4: shows.py:99
(neso) c
done
TEXT

session --break shows.py:21 shows.py <<'TEXT'
l


l .
l 3
l 5, 7
l 5, 3
l 77
p tl.sum(offs, 0)

pp offs
n

q
TEXT
shows "list, and an empty line repeats a command with its arguments" <<'TEXT'
> shows.py:21 in k, program (0, 0, 0)
      m = offs < n
(neso) l
   16    
   17    @triton.jit
   18    def k(x_ptr, n, BLOCK: tl.constexpr):
   19        pid = tl.program_id(0)
   20        offs = pid * BLOCK + tl.arange(0, BLOCK)
   21 ->     m = offs < n
   22        x = tl.load(x_ptr + offs, m)
   23        t = tl.reshape(x, (2, BLOCK // 2))
   24        for i in range(2):
   25            x = half(x) + i
   26        tl.store(x_ptr + offs, x, m)
(neso) 
   27    
   28    x = torch.arange(14, dtype=torch.float32)
   29    k[(2,)](x, 14, BLOCK=8)
   30    print('done')
(neso) 
  the end of the file
(neso) l .
   16    
   17    @triton.jit
   18    def k(x_ptr, n, BLOCK: tl.constexpr):
   19        pid = tl.program_id(0)
   20        offs = pid * BLOCK + tl.arange(0, BLOCK)
   21 ->     m = offs < n
   22        x = tl.load(x_ptr + offs, m)
   23        t = tl.reshape(x, (2, BLOCK // 2))
   24        for i in range(2):
   25            x = half(x) + i
   26        tl.store(x_ptr + offs, x, m)
(neso) l 3
    1    import torch
    2    import triton
    3    import triton.language as tl
    4    
    5    @triton.jit
    6    def half(x):
    7        y = x * 0.5
    8        return y
(neso) l 5, 7
    5    @triton.jit
    6    def half(x):
    7        y = x * 0.5
(neso) l 5, 3
    5    @triton.jit
    6    def half(x):
    7        y = x * 0.5
    8        return y
(neso) l 77
  no such lines: l, l ., l LINE, l FIRST, LAST
(neso) p tl.sum(offs, 0)
28
(neso) 
28
(neso) pp offs
[0 1 2 3 4 5 6 7]
(neso) n
> shows.py:22 in k, program (0, 0, 0)
      x = tl.load(x_ptr + offs, m)
(neso) 
> shows.py:23 in k, program (0, 0, 0)
      t = tl.reshape(x, (2, BLOCK // 2))
(neso) q
TEXT

cat >nans.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def ratio(a, b):
    return a / b

@triton.jit
def k(x_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    z = s / s
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, offs < n, other=float('nan'))
    for i in range(3):
        x = ratio(x, x - i) * 2
    q = ratio(x, offs + 1) + tl.log(x - 7)
    tl.store(y_ptr + offs, tl.where(q == q, q, z), offs < n)

x = torch.arange(8, dtype=torch.float32)
y = torch.empty(8)
k[(2,)](x, y, 0.0, 6, BLOCK=8)
print('done')
PY
session --break-on nan nans.py <<'TEXT'
c
p a, b
u
p x, i
c
nan
p tl.log(x - 7)
nan off
c
TEXT
shows "stopping where a value first becomes a NaN" <<'TEXT'
> nans.py:11 in k, program (0, 0, 0)
      z = s / s
  a NaN: 0 / 0 is nan
    's' is 0
(neso) c
> nans.py:7 in ratio, program (0, 0, 0)
      return a / b
  a NaN: element 0 of the tile: 0 / 0 is nan
    line 15: 0 - 0 is 0
    line 13: index 0 of 'x_ptr', which is float32[8], is 0
(neso) p a, b
([ 0.  1.  2.  3.  4.  5. nan nan], [ 0.  1.  2.  3.  4.  5. nan nan])
(neso) u
> nans.py:15 in k
      x = ratio(x, x - i) * 2
(neso) p x, i
([ 0.  1.  2.  3.  4.  5. nan nan], 0)
(neso) c
> nans.py:16 in k, program (0, 0, 0)
      q = ratio(x, offs + 1) + tl.log(x - 7)
  a NaN: element 1 of the tile: log(-3) is nan
    line 16: 4 - 7 is -3
    line 16: a constant gives 7
(neso) nan
  nan is on: a value that becomes a NaN stops the kernel
(neso) p tl.log(x - 7)
[nan nan nan nan nan nan nan nan]
(neso) nan off
  nan is off
(neso) c
done
TEXT
session --break nans.py:15 nans.py <<'TEXT'
nan
nan on
c
q
TEXT
shows "nan on, at the prompt" <<'TEXT'
> nans.py:15 in k, program (0, 0, 0)
      x = ratio(x, x - i) * 2
(neso) nan
  nan is off
(neso) nan on
  nan is on: a value that becomes a NaN stops the kernel
(neso) c
> nans.py:7 in ratio, program (0, 0, 0)
      return a / b
  a NaN: element 0 of the tile: 0 / 0 is nan
    line 15: 0 - 0 is 0
    line 13: index 0 of 'x_ptr', which is float32[8], is 0
(neso) q
TEXT
session --break-on nan shows.py </dev/null
{ [ $status = 0 ] && [ "$(cat shown)" = "done" ]; } || say "--break-on nan without a NaN: exit $status: $(cat shown err)"
session --break-on inf nans.py </dev/null
{ [ $status = 2 ] && grep -q "expected nan, found 'inf'" err; } || say "--break-on inf: exit $status: $(cat err)"
exit $fail
