# SPDX-License-Identifier: MIT
# Tests that torch.matmul in a benchmark uses cuBLAS if it is installed: results are right for every layout, the table names the library
# that multiplied, and a failure names the call. The test uses a fake driver and a fake cuBLAS, which need no GPU (driver/*.c).
fail=0
say() { echo "$*"; fail=1; }
build() { ${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -shared -fPIC -I"$NESO_ROOT" "$NESO_ROOT/tests/cli/driver/$1.c" -o "$2"; }
mkdir -p env/lib/python3.12/site-packages/nvidia/cublas/lib
build cuda libcuda.so.1 && build cublas env/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12 || exit 1
export LD_LIBRARY_PATH=$PWD
# Turns leak detection off. A leak report does not name a library that is no longer loaded, so no suppression can match
# the library's leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

cat >products.py <<'PY'
import torch
import triton

def check(a, b, name):
    found = []
    triton.testing.do_bench(lambda: found or found.append(torch.matmul(a, b)), warmup=1, rep=1)
    torch.testing.assert_close(found[0], torch.matmul(a.cpu(), b.cpu()).cuda(), msg=name)

def rand(*size, dtype=torch.float32):
    return torch.randn(size, device='cuda', dtype=dtype)

check(rand(5, 7), rand(7, 3), 'rows')
check(rand(7, 5).T, rand(7, 3), 'first transposed')
check(rand(5, 7), rand(3, 7).T, 'second transposed')
check(rand(7, 5).T, rand(3, 7).T, 'both transposed')
check(rand(5, 9)[:, 1:8], rand(9, 3)[2:], 'slices')
check(rand(5, 14)[:, ::2], rand(7, 3), 'steps, which cuBLAS does not take')
check(rand(1, 7), rand(7, 1), 'one row, one column')
check(rand(5, 1), rand(1, 3), 'one term')
check(rand(5, 7, dtype=torch.float64), rand(7, 3, dtype=torch.float64), 'float64')
check(rand(4, 5, 7), rand(4, 7, 3), 'batches')
check(rand(4, 5, 7), rand(7, 3), 'a batch by a matrix')
check(rand(2, 4, 5, 7), rand(2, 4, 3, 7).transpose(2, 3), 'batches of batches')
check(rand(2, 4, 5, 7), rand(4, 7, 3), 'a batch that is taken twice, which cuBLAS does not')
check(rand(7), rand(7, 3), 'a vector by a matrix')
check(rand(5, 7), rand(7), 'a matrix by a vector')
check(rand(7), rand(7), 'vectors')

a, b, c = rand(5, 7), rand(7, 3), torch.zeros(5, 3, device='cuda')
triton.testing.do_bench(lambda: torch.matmul(a, b, out=c), warmup=1, rep=1)
torch.testing.assert_close(c, (a.cpu() @ b.cpu()).cuda())

@triton.testing.perf_report(triton.testing.Benchmark(
    x_names=['N'], x_vals=[8, 16], line_arg='provider', line_vals=['torch', 'cublas', 'relu'],
    line_names=['Torch', 'cuBLAS', 'ReLU'], ylabel='ms', plot_name='products', args={}))
def benchmark(N, provider):
    x, y = rand(N, N), rand(N, N)
    return triton.testing.do_bench(lambda: torch.relu(x @ y) if provider == 'relu' else x @ y, warmup=1, rep=1)

benchmark.run(print_data=True)
PY

export VIRTUAL_ENV=$PWD/env
"$NESO" run --device cuda products.py >out 2>err || say "with cuBLAS: $(cat out err)"
grep -q 'Torch (cuBLAS) (ms)  cuBLAS (ms)  ReLU (CPU oracle) (ms)' out || say "with cuBLAS: $(cat out)"
for call in cublasSetStream_v2 cublasGemmStridedBatchedEx; do
    FAKE_FAIL=$call "$NESO" run --device cuda products.py >out 2>err && say "$call refused: exit 0"
    grep -q "products.py:.*cublasGemmStridedBatchedEx gave status 13" err || say "$call refused: $(cat err)"
done
FAKE_FAIL=cublasCreate_v2 "$NESO" run --device cuda products.py >out 2>err || say "cuBLAS that does not start: $(cat err)"
grep -q 'Torch (CPU oracle) (ms)  cuBLAS (CPU oracle) (ms)  ReLU (CPU oracle) (ms)' out || say "cuBLAS that does not start: $(cat out)"
unset VIRTUAL_ENV
"$NESO" run --device cuda products.py >out 2>err || say "without cuBLAS: $(cat err)"
grep -q 'Torch (CPU oracle) (ms)' out || say "without cuBLAS: $(cat out)"
exit $fail
