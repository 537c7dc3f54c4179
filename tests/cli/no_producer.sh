# SPDX-License-Identifier: MIT
# Tests the variant without a producer. A launch uses this variant under two conditions: one more CTA fits on each SM
# without the registers of the producer's warp, and the grid has programs for this CTA. Generated C code (--emit c)
# decides in the same way. The test runs on the fake driver, which reports a given number of registers of a thread.
set -u
status=0
say() { echo "$1"; status=1; }
cat >states.py <<'END'
import torch
import triton
import triton.language as tl


@triton.jit
def states(X, B, S, L: tl.constexpr, P: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    at = tl.program_id(0) * L
    p, n, k = tl.arange(0, P), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((P, N), tl.float32)
    for first in range(0, L, BK):
        x = tl.load(X + (at + first + k)[None, :] * P + p[:, None])
        b = tl.load(B + (at + first + k)[:, None] * N + n[None, :]).to(tl.float32)
        acc += tl.dot(x, (b * 0.5).to(tl.float16))
    tl.store(S + tl.program_id(0) * P * N + p[:, None] * N + n[None, :], acc.to(tl.float16))


if __name__ == '__main__':
    G = GRID
    x, b = torch.ones((G * 64, 64), device='cuda', dtype=torch.float16), torch.ones((G * 64, 128), device='cuda', dtype=torch.float16)
    s = torch.zeros((G, 64, 128), device='cuda', dtype=torch.float16)
    states[(G,)](x, b, s, 64, 64, 128, 32, num_stages=3)
    states[(G,)](x, b, s, 64, 64, 128, 32, num_stages=3)
    torch.cuda.synchronize()
END
${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/cuda.c" -o libcuda.so.1 || exit 1
export LD_LIBRARY_PATH=$PWD FAKE_TRACE=1 NESO_CACHE=off
run() { # REGISTERS PROGRAMS THREADS: checks that both launches have THREADS threads
    sed "s/GRID/$2/" states.py >now.py
    FAKE_REGISTERS=$1 "$NESO" run --verbose --device cuda now.py >out 2>err || say "$(cat out err)"
    [ "$(grep -c "^grid $2 1 1 threads $3 shared" out)" = 2 ] || say "$1 registers, $2 programs: $(grep grid out)"
}
# The fake GPU has 132 SMs. With 128 registers, three CTAs of 160 threads or four CTAs of 128 threads fit on an SM.
# With 32 registers, shared memory limits both to five CTAs, so the driver need not assemble the variant.
run 128 396 160
grep -q 'variant no_producer' err && say "a variant for a grid that fits at once"
run 128 397 128
[ "$(grep -c 'variant no_producer' err)" = 1 ] || say "the variant is compiled once: $(cat err)"
rm -f loaded
FAKE_LOADED=loaded run 32 700 160
[ "$(wc -l <loaded)" = 1 ] || say "a variant is assembled in vain"
"$NESO" run --device emulator now.py >out 2>&1 || say "$(cat out)"

# The generated C code makes the same decisions.
options=(--signature '*fp16:16, *fp16:16, *fp16:16, 64, 64, 128, 32' --num-stages 3 --target sm_90a)
"$NESO" compile states.py::states "${options[@]}" --emit c -o states || say "--emit c: exit $?"
cat >main.c <<'END'
#include "states.h"

int main(void)
{
    struct states_module m;
    return states_load(&m) || states_launch(&m, 0, 396, 1, 1, 0x1000, 0x2000, 0x3000) || states_launch(&m, 0, 397, 1, 1, 0x1000, 0x2000, 0x3000) ||
           states_unload(&m);
}
END
${CC:-cc} -std=c11 -Wall -Wextra -Werror -pedantic main.c states.c ./libcuda.so.1 -o main || say "the C code does not compile"
threads() { FAKE_REGISTERS=$1 ./main | sed -E 's/^grid ([0-9]+) .* threads ([0-9]+) .*/\1 \2/' | paste -s -d ' '; }
[ "$(threads 128)" = "396 160 397 128" ] || say "C code, 128 registers: $(threads 128)"
[ "$(threads 200)" = "396 160 397 160" ] || say "C code, 200 registers: $(threads 200)"

# --explain and the launch plan show the variant. A kernel without a producer has no such variant.
"$NESO" compile states.py::states "${options[@]}" --explain warp_specialize -o states.ptx >out 2>&1
grep -q 'the producer takes a warp: .* variant no_producer' out || say "--explain: $(cat out)"
where='"without": "raise_tma_load", "where": "programs > CTAs that fit on the GPU, and more CTAs of this variant fit"'
"$NESO" compile states.py::states "${options[@]}" --emit json -o plan && grep -qF "$where" plan || say "the plan: $(cat plan)"
for more in '--skip raise_tma_load' '--num-warps 2' '--target sm_80'; do
    # shellcheck disable=SC2086
    "$NESO" compile states.py::states "${options[@]}" $more --emit json -o plan && ! grep -q '"where"' plan || say "$more: $(cat plan)"
done
exit $status
