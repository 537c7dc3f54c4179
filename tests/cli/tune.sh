#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that choices of autotuning are stored in NESO_CACHE_DIR, and that the next run uses them. Without NESO_CACHE_DIR, no choice is
# written.
set -u
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
cat >tuned.py <<'PY'
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'BLOCK': 16}), triton.Config({'BLOCK': 32})], key=['n'])
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, i, mask=i < n)

x = torch.zeros(64, dtype=torch.int32, device='cuda')
fill[lambda meta: (triton.cdiv(64, meta['BLOCK']),)](x, 64)
assert x.tolist() == list(range(64))
PY
export TRITON_PRINT_AUTOTUNING=1
run() { "$NESO" run --device interpreter tuned.py >out 2>err || { cat out err; exit 1; }; }
fail() { echo "$1"; ls -R; cat out err; exit 1; }
run; grep -q 'best config selected: BLOCK' out || fail "nothing was tuned"
[ "$(ls)" = "$(printf 'err\nout\ntuned.py')" ] || fail "a file was left"
export NESO_CACHE_DIR=$work/cache
run; grep -q 'best config selected: BLOCK' out || fail "nothing was tuned for the cache"
[ "$(ls cache | wc -l)" = 1 ] || fail "one choice is one file"
run; [ ! -s out ] || fail "the choice was not taken from the cache"
echo "BLOCK: 17" >"$(echo cache/*)"
run; grep -q 'best config selected: BLOCK' out || fail "a choice that is none of the configs was taken"
exit 0
