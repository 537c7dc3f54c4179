# SPDX-License-Identifier: MIT
# Tests that the kernels of bench/ give right results without a GPU, at small sizes: products of every layout, type and epilogue, and
# products that split their sums. Also tests that `neso bench` can judge recorded measurements, and that Python can use the library.
status=0
for program in decode matmuls; do
    for device in interpreter emulator; do
        got=$("$NESO" run --no-cache --device "$device" "$NESO_ROOT/bench/programs/$program.py" 2>&1)
        [ "$got" = right ] || { echo "$program on the $device: $got"; status=1; }
    done
done
if command -v python3 >/dev/null; then
    cat >rows.json <<'END'
{"device": "one", "rows": [{"group": "softmax", "work": "softmax f32 1x1", "who": "neso", "unit": "GB/s", "ms": 2, "rate": 1},
 {"group": "softmax", "work": "softmax f32 1x1", "who": "copy", "unit": "GB/s", "ms": 1.96, "rate": 1},
 {"group": "softmax", "work": "softmax f32 1x1", "who": "triton", "unit": "GB/s", "ms": 1.9, "rate": 1}]}
END
    python3 "$NESO_ROOT/bench/report.py" rows.json >judged || exit 1
    grep -q '^met .*copy.*0.980' judged && grep -q '^MISSED .*triton.*0.950' judged || { cat judged; status=1; }
    # The Python binding returns a kernel's texts by their names, and its resources.
    cat >bound.py <<'END'
import neso
kernel = neso.Context("emulator").module("sum.py").kernel("sum", "*fp32:16, 64", num_warps=2)
for text, has in [("ir", "kernel @sum"), ("ptx", "\t.reg "), ("json", "{")]: # machine IR does not declare registers
    assert has in kernel.text(text), (text, kernel.text(text)[:40])
assert kernel.resources["num_threads"] == 64 and kernel.resources["ptx_version"] >= 70, kernel.resources
END
    printf 'import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef sum(X, N: tl.constexpr):\n    %s\n' \
        'tl.store(X, tl.sum(tl.load(X + tl.arange(0, N)), axis=0))' >sum.py
    if [ "$NESO_BUILD" = build ]; then # other builds may need the runtime of a sanitizer, which Python does not load
        NESO_LIBRARY=$NESO_ROOT/build/libneso.so PYTHONPATH=$NESO_ROOT/runtime/python python3 bound.py || status=1
    fi
fi
exit $status
