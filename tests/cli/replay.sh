# SPDX-License-Identifier: MIT
# Tests the player of recorded launches (tests/replay) on equal results, wrong results, a refused kernel, a program that writes out of
# bounds, and a program whose atomics have no fixed order. If a record lacks memory contents, the player generates them.
set -u
[ "$NESO_BUILD" = build ] || { echo "left out: a sanitizer's runtime is not in Python"; exit 0; }
command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null || { echo "left out: no python3 with numpy"; exit 0; }
cd "$(mktemp -d)" || exit 1
export NESO_LIBRARY=$NESO_ROOT/build/libneso.so
python3 - <<'PY' || exit 1
import json, struct
text = """import triton
import triton.language as tl
from scaling import scale

@triton.jit
def apply(X, Y, n, f, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, scale(tl.load(X + i, i < n), f), i < n)
"""
helper = """import triton

@triton.jit
def scale(x, f):
    return x * f
"""
counted = """import triton
import triton.language as tl

@triton.jit
def apply(X, Y, n, f, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.atomic_add(Y + i * 0, f, i < n)
    tl.store(Y + 1 + place.to(tl.int32), tl.load(X + i, i < n), i < n)
"""
x = [0.5 * i for i in range(100)]

def record(name, y, f=2.0, text=text, n=100, y_bytes=400, memory=True):
    json.dump({"id": name, "kernel": "apply", "module": "m", "kernel_id": "k", "collection": "c", "main": "main", "grid": [4, 1, 1],
               "texts": {"main": text, "scaling": helper}, "signature": "*fp32:16, *fp32:16, i32, fp32, 32", "varies": False,
               "options": {"num_warps": 4, "num_stages": 3, "num_ctas": 1},
               "arguments": [{"storage": 0, "offset": 0}, {"storage": 1, "offset": 0}, n, f],
               "storages": [{"bytes": 400, "type": "fp32", "alignment": 0}, {"bytes": y_bytes, "type": "fp32", "alignment": 128}]},
              open(f"records/{name}.json", "w"))
    floats = lambda values: struct.pack(f"{len(values)}f", *values)
    if memory:
        before = floats(x) + bytes(y_bytes)
        open(f"records/{name}.bin", "wb").write(before + floats(x) + floats(y))

import os
os.mkdir("records")
record("10", [2 * v for v in x])
record("11", [2 * v * (1 + 1e-6) for v in x])
record("12", [2 * v for v in x[:99]] + [7.0])
record("13", [2 * v for v in x], text=text.replace("scale(", "scal("))
record("14", [2 * v for v in x[:50]], y_bytes=200)
record("15", [], memory=False)
record("16", [100.0] + x[::-1], f=1.0, text=counted, y_bytes=404)
record("17", [100.0] + x[:0:-1] + [1.0], f=1.0, text=counted, y_bytes=404)
PY
python3 "$NESO_ROOT/tests/replay/replay.py" play records --device emulator --jobs 1 --table table >summary && { echo "exit 0"; exit 1; }
cut -f 4,5 table | sort | tr '\t\n' '  ' >found
want='10 equal 11 agrees 12 only Triton differs 13 refused 14 program at fault 15 equal 16 agrees 17 only Triton differs id verdict '
[ "$(cat found)" = "$want" ] || { echo "found:  $(cat found)"; echo "wanted: $want"; cat table; exit 1; }
grep -q "1 of 100 fp32 off by up to .* at 99: 99 not 7" table || { echo "the difference is not told"; exit 1; }
grep -q "main.py:[0-9:]*: error: .*scal" table || { echo "the refusal has no place"; exit 1; }
