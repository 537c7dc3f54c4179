# SPDX-License-Identifier: MIT
"""test_original.py: tests the use of the original Triton by neso, if Triton and torch are installed: Triton runs a kernel that neso
refuses, and --check finds a difference."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
os.environ.update(NESO_DEVICE="interpreter", NESO_FALLBACK="triton")
import neso

neso.install()
import triton
import triton.language as tl

from neso import check, fallback, original

try:
    import torch

    original.triton()
except ImportError as e:
    raise SystemExit(f"skipped: {e}")

FACTOR = tl.constexpr(2)


@triton.jit
def doubled(x):
    return x * FACTOR


@triton.jit
def refused(x, y, n, BLOCK: tl.constexpr, dtype: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.static_assert(v.shape[0].__add__(0) == BLOCK)
    tl.store(y + i, doubled(v).to(dtype), mask=i < n)


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, doubled(tl.load(x + i, mask=i < n)), mask=i < n)


class OriginalTest(unittest.TestCase):
    def setUp(self):
        self.x, self.y = torch.arange(100, dtype=torch.float32), torch.zeros(100)

    def test_what_neso_refuses_runs_there(self):
        for _ in range(2):
            self.y.zero_()
            refused[(2,)](self.x, self.y, 100, BLOCK=64, dtype=tl.float32)
            self.assertTrue(torch.equal(self.y, 2 * self.x))
        self.assertIn("__main__.refused", fallback._refused)
        self.assertIn("neso", triton.__file__)

    def test_launches_are_compared(self):
        args = (self.x, self.y, 100)
        check.launch(double, args, {"BLOCK": 64}, (2,), args, lambda: double[(2,)](*args, BLOCK=64))
        self.assertEqual((check._seen["launches"], check._seen["differing"]), (1, {}))

        def wrong():
            self.y.copy_(2 * self.x)
            self.y[7] += 1

        check.launch(double, args, {"BLOCK": 64}, (2,), args, wrong)
        self.assertIn("first element 7: 15.0 is not 14.0", check._seen["differing"]["__main__.double"])
        self.assertEqual(self.y[7], 14)
        check._seen["differing"].clear()


if __name__ == "__main__":
    unittest.main()
