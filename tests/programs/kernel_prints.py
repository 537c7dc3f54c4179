# runs: interpreter triton-interpret
# Tests print and f-strings of tiles in a kernel, in numpy's format: types, widths, exponents, long and two-dimensional
# tiles. Programs print in the order in which Triton's interpreter runs them: the last axis of the grid varies fastest.
import os

os.environ['TRITON_INTERPRET'] = '1'

import torch
import triton
import triton.language as tl


@triton.jit
def types(x_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    print('x', x, 'n', n, 'scale', scale, 'BLOCK', BLOCK)
    print(i, i - 2, i * 1000 - 1, i > 1, (i - 2).to(tl.int8), (i - 1).to(tl.int64))
    print(x.to(tl.float16), x * 1e6, x * 1e-6, x * 1e9, x / 3)
    print(tl.load(y_ptr + i), tl.sum(x, 0), -x)
    print(f'{x} and {i}', f'block {BLOCK:>3}', sep=' | ', end='!\n')


@triton.jit
def shapes(ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    print(i)
    print(i * 0.5)
    print(tl.reshape(i, (2, ROWS // 2, COLUMNS)))
    print(tl.arange(0, 32) * 100)
    print(tl.arange(0, 2048))
    print(tl.arange(0, 64)[:, None] + tl.arange(0, 32)[None, :])


@triton.jit
def order():
    print(tl.program_id(0), tl.program_id(1), tl.num_programs(1))
    for k in range(2):
        print('k', k)


types[(1,)](torch.tensor([0.5, -1.0, 3.25, 100.0]), torch.tensor([0.0, float('nan'), float('inf'), -float('inf')]), 7, 2.5,
            BLOCK=4)
shapes[(1,)](4, 8)
order[(2, 3)]()
