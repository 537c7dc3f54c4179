# SPDX-License-Identifier: MIT
# Tests that kernels stop on the interpreter: --break FILE:LINE[@pid], breakpoint(), the prompt's commands. Also tests the options for race
# checks, and a program that sets TRITON_INTERPRET=1.
fail=0
say() { echo "$*"; fail=1; }

cat >stops.py <<'PY'
import torch
import triton
import triton.language as tl
from triton_util import breakpoint_if

@triton.jit
def half(x):
    y = x * 0.5
    return y

@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, offs < n)
    for i in range(2):
        x = half(x) + i
    tl.store(x_ptr + offs, x, offs < n)

@triton.jit
def pauses(x_ptr):
    pid = tl.program_id(1)
    breakpoint_if(',=2', [0], [pid])
    if pid == 1:
        breakpoint()

x = torch.arange(6, dtype=torch.float32)
k[(3,)](x, 6, BLOCK=2)
pauses[(1, 3)](x)
print('done')
PY
prompt() { # COMMANDS ARGUMENTS...: prints the output without the prompts; sets status to the exit status
    printf '%b' "$1" >commands
    shift
    "$NESO" run "$@" <commands >out 2>err
    status=$?
    sed -E 's/\(neso\) //g' out >shown
}
shows() { # expected lines on standard input
    cat >want
    diff want shown >differs || say "$1: $(cat differs; cat err)"
}

prompt 'p x_ptr\np x_ptr, n\nvars\nq\n' --break stops.py:16@1 stops.py
shows "pointers show tensor, shape and offset" <<'TEXT'
> stops.py:16 in k, program (1, 0, 0)
      for i in range(2):
x_ptr, float32[6], at offset 0
(x_ptr, float32[6], at offset 0, 6)
  x_ptr = x_ptr, float32[6], at offset 0
  n = 6
  BLOCK = 2
  pid = 1
  offs = [2 3]
  x = [2. 3.]
TEXT

prompt 'p x\nu\np x, offs\np y\nl\nu\nd\nd\np x\nq\n' --break stops.py:9@1 stops.py
shows "up and down" <<'TEXT'
> stops.py:9 in half, program (1, 0, 0)
      return y
[2. 3.]
> stops.py:17 in k
      x = half(x) + i
([2. 3.], [2 3])
<expression>:1:1: error: name 'y' is not defined [name]
    1 | y
      | ^
   12    def k(x_ptr, n, BLOCK: tl.constexpr):
   13        pid = tl.program_id(0)
   14        offs = pid * BLOCK + tl.arange(0, BLOCK)
   15        x = tl.load(x_ptr + offs, offs < n)
   16        for i in range(2):
   17 ->         x = half(x) + i
   18        tl.store(x_ptr + offs, x, offs < n)
   19    
   20    @triton.jit
   21    def pauses(x_ptr):
   22        pid = tl.program_id(1)
  the kernel is the outermost
> stops.py:9 in half
      return y
  no further call leads to this line
[2. 3.]
TEXT

prompt 'p x\nprint offs * 2\npid\nBLOCK, n\nx[0] + 1\ns\nw\nc\nc\nc\nc\n' --break stops.py:16@1 stops.py
shows "--break FILE:LINE@pid" <<'TEXT'
> stops.py:16 in k, program (1, 0, 0)
      for i in range(2):
[2. 3.]
[4 6]
1
(2, 6)
3.0
> stops.py:17 in k, program (1, 0, 0)
      x = half(x) + i
  stops.py:17 in k
> stops.py:25 in pauses, program (0, 1, 0)
      breakpoint()
> stops.py:23 in pauses, program (0, 2, 0)
      breakpoint_if(',=2', [0], [pid])
done
TEXT
[ $status = 0 ] || say "after continue: exit $status"

prompt 's\ny\nw\ns\ns\ni\nc\nw\nnonsense\n1/0\nx +\nq\n' --break stops.py:8 stops.py
shows "a jit function, errors, quit" <<'TEXT'
> stops.py:8 in half, program (0, 0, 0)
      y = x * 0.5
> stops.py:9 in half, program (0, 0, 0)
      return y
[0.  0.5]
  stops.py:9 in half
  stops.py:17 in k
> stops.py:17 in k, program (0, 0, 0)
      x = half(x) + i
> stops.py:8 in half, program (0, 0, 0)
      y = x * 0.5
<expression>:1:1: error: name 'i' is not defined [name]
    1 | i
      | ^
> stops.py:25 in pauses, program (0, 1, 0)
      breakpoint()
  stops.py:25 in pauses
<expression>:1:1: error: name 'nonsense' is not defined [name]
    1 | nonsense
      | ^~~~~~~~
<expression>:1:2: error: division by zero [division]
    1 | 1/0
      |  ^
<expression>:1:4: error: expected an expression, found the end of the line [syntax]
    1 | x +
      |    ^
TEXT
[ $status = 1 ] || say "quit: exit $status"

prompt 'n\n\nn * 2\nvars\nb 18\nb 8 if x[0] > 1\ntbreak 8 if nonsense\nb\nclear 1\nc\npp y\nc\nl\nclear\nc\nc\nc\n' --break stops.py:16 stops.py
shows "next, vars, breakpoints of the prompt, list" <<'TEXT'
> stops.py:16 in k, program (0, 0, 0)
      for i in range(2):
> stops.py:17 in k, program (0, 0, 0)
      x = half(x) + i
> stops.py:17 in k, program (0, 0, 0)
      x = half(x) + i
12
  x_ptr = x_ptr, float32[6], at offset 0
  n = 6
  BLOCK = 2
  pid = 0
  offs = [0 1]
  x = [0.  0.5]
  i = 1
  breakpoint 1 at line 18
  breakpoint 2 at line 8
  breakpoint 3 at line 8
  1: stops.py:18
  2: stops.py:8 if x[0] > 1
  3: stops.py:8, once if nonsense
  2: stops.py:8 if x[0] > 1
  3: stops.py:8, once if nonsense
<expression>:1:1: error: name 'nonsense' is not defined [name]
    1 | nonsense
      | ^~~~~~~~
  breakpoint 3: the condition cannot be evaluated
> stops.py:8 in half, program (0, 0, 0)
      y = x * 0.5
<expression>:1:1: error: name 'y' is not defined [name]
    1 | y
      | ^
> stops.py:8 in half, program (1, 0, 0)
      y = x * 0.5
    3    import triton.language as tl
    4    from triton_util import breakpoint_if
    5    
    6    @triton.jit
    7    def half(x):
    8 ->     y = x * 0.5
    9        return y
   10    
   11    @triton.jit
   12    def k(x_ptr, n, BLOCK: tl.constexpr):
   13        pid = tl.program_id(0)
  no breakpoints: b LINE sets one
> stops.py:25 in pauses, program (0, 1, 0)
      breakpoint()
> stops.py:23 in pauses, program (0, 2, 0)
      breakpoint_if(',=2', [0], [pid])
done
TEXT

prompt '' --device interpreter stops.py
[ $status = 1 ] || say "the end of the input: exit $status"
grep -q 'program (0, 1, 0)' shown || say "breakpoint(): $(cat shown)"
prompt 'c\nw\nc\n' --device interpreter stops.py
grep -q '  in breakpoint_if' shown || say "where in a function of the host: $(cat shown)"

prompt 'c\nc\n' --break stops.py:12 stops.py
grep -q 'no kernel reached the breakpoint stops.py:12' err || say "a breakpoint that is not reached: $(cat err)"
for wrong in stops.py stops.py:x stops.py:3@ stops.py:3@1,2,3,4 :3; do
    prompt '' --break "$wrong" stops.py
    [ $status = 2 ] || say "--break $wrong: exit $status"
done

cat >races.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.jit
def k(x_ptr, late, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    for i in range(64):
        tl.store(x_ptr + (pid + 1) * BLOCK + tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.int32) + i)
    if pid >= late:
        tl.store(x_ptr, pid)

x = torch.zeros(4096 * 257, dtype=torch.int32)
k[(256,)](x, 250, BLOCK=4096)
print('done')
PY
"$NESO" run --device interpreter races.py >out 2>err || say "a late race under --races start: $(cat err)"
"$NESO" run --device interpreter --races off races.py >out 2>err || say "--races off: $(cat err)"
"$NESO" run --device interpreter --races all races.py >out 2>err; [ $? = 1 ] || say "--races all"
grep -q 'program (251, 0, 0): the pointer writes 251 to index 0.*program (250, 0, 0) has written' err || say "--races all: $(cat err)"
NESO_RACES=all "$NESO" run --device interpreter races.py >out 2>err; [ $? = 1 ] || say "NESO_RACES=all"
"$NESO" run --races sometimes races.py >out 2>err; [ $? = 2 ] || say "--races sometimes"

cat >chooses.py <<'PY'
import os
os.environ['TRITON_INTERPRET'] = '1'
import torch
import triton
import triton.language as tl

@triton.jit
def k(x_ptr):
    print(tl.load(x_ptr + tl.arange(0, 4)))

k[(1,)](torch.arange(4, device='cuda'))
PY
[ "$(NESO_DEVICE=emulator "$NESO" run chooses.py)" = '[0 1 2 3]' ] || say "TRITON_INTERPRET=1 in the program"
"$NESO" run --device emulator chooses.py >out 2>err && say "--device goes before TRITON_INTERPRET=1"
printf 'import os\nimport torch\nprint(os.environ.get("TRITON_INTERPRET"), os.getenv("TRITON_INTERPRET") == "1")\n' >asks.py
[ "$("$NESO" run --device interpreter asks.py)" = "1 True" ] || say "what TRITON_INTERPRET is on the interpreter"
[ "$(TRITON_INTERPRET=1 "$NESO" run --device emulator asks.py)" = "None False" ] || say "what TRITON_INTERPRET is on the emulator"
sed '2d; $ a os.environ["TRITON_INTERPRET"] = "1"' chooses.py | sed 's/print(.*/pass/' >late.py
NESO_DEVICE=emulator "$NESO" run late.py >out 2>err; [ $? = 1 ] || say "TRITON_INTERPRET=1 after a launch"
grep -q interpret-late err || say "TRITON_INTERPRET=1 after a launch: $(cat err)"
# If --break names a line at which a program cannot stop, neso refuses to run the program.
refused() { # TEXT ARGUMENTS...
    local text=$1
    shift
    "$NESO" run "$@" >out 2>err </dev/null; [ $? = 2 ] || say "$*: exit status"
    [ ! -s out ] && grep -qF -- "$text" err || say "$*: $(cat out err)"
}
refused "--break stops.py:99: stops.py has $(wc -l <stops.py) lines" --break stops.py:99 stops.py
refused "--break stops.py:5: line 5 has no statement" --break stops.py:5 stops.py
refused "--break needs --device interpreter" --break stops.py:16 --device emulator stops.py
refused "--break-on needs --device interpreter" --break-on nan --device emulator stops.py
exit $fail
