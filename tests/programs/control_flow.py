# runs: interpreter emulator cuda triton triton-interpret
# Compares branches and loops of a kernel with the same functions in Python: early returns, returns from nested
# branches of helpers, names that branches change, and loops that count down, carry tuples, or have no iterations.
import torch
import triton
import triton.language as tl


@triton.jit
def classify(n):
    if n > 10:
        if n > 20:
            return 3
        n = n - 10
    elif n < 0:
        return -1
    return n * 2


def classify_python(n):
    if n > 10:
        if n > 20:
            return 3
        n = n - 10
    elif n < 0:
        return -1
    return n * 2


@triton.jit
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps, n


@triton.jit
def kernel(out, start, STRIDE: tl.constexpr):
    pid = tl.program_id(0)
    n = pid + start
    p = out + pid * STRIDE
    if n == 7:
        tl.store(p, 77)
        return
    tl.store(p, classify(n))
    total, last = 0, (0, n)
    for i in range(n, 0, -3):
        total += i
        last = (i, last[0])
        for k in range(i):
            if k % 2 == 1:
                total -= k
    tl.store(p + 1, total)
    tl.store(p + 2, last[0] * 100 + last[1])
    if n > 0:
        steps, one = collatz(n)
        tl.store(p + 3, steps + one)
    for i in tl.static_range(3):
        if n > i:
            tl.store(p + 4 + i, i + n)


def expected(n):
    if n == 7:
        return [77, 0, 0, 0, 0, 0, 0, 0]
    row = [classify_python(n), 0, 0, 0, 0, 0, 0, 0]
    total, last = 0, (0, n)
    for i in range(n, 0, -3):
        total += i
        last = (i, last[0])
        for k in range(i):
            if k % 2 == 1:
                total -= k
    row[1] = total
    row[2] = last[0] * 100 + last[1]
    if n > 0:
        steps, m = 0, n
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            steps += 1
        row[3] = steps + 1
    for i in range(3):
        if n > i:
            row[4 + i] = i + n
    return row


out = torch.zeros(32, 8, dtype=torch.int32, device="cuda")
kernel[(32,)](out, -4, STRIDE=8)
for pid in range(32):
    row = out[pid].tolist()
    assert row == expected(pid - 4), (pid - 4, row, expected(pid - 4))
print("ok")

# expect:
# ok
