# SPDX-License-Identifier: MIT
"""triton.tools.mxfp in neso: tensors of 4-bit floats, and of the scales of blocks, for torch."""
import torch

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


class MXFP4Tensor:
    """A tensor of E2M1 numbers. `data` has a byte for each number; its low 4 bits are the sign, exponent and mantissa."""

    def __init__(self, data=None, size=None, device=None):
        assert data is not None or size is not None, "Either parameter data or size must be provided"
        self.device = device
        if data is None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            assert isinstance(data, torch.Tensor), "Parameter data must be a torch tensor"
            self.device = data.device
            self.data = self._encode(data)

    def random(self):
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """Returns the numbers as floats; `dtype` must be torch.float32."""
        assert dtype == torch.float32, "Currently only float32 is supported for f4e2m1 to float conversion"
        values = torch.tensor(_E2M1, dtype=dtype, device=self.data.device)[(self.data & 7).long()]
        return torch.where(self.data & 8 != 0, -values, values)

    @staticmethod
    def _encode(x):
        """Returns the codes of the nearest numbers. A tie gives the even code, and a number that is too large gives the largest
        code."""
        size = x.abs().float()
        bounds = torch.tensor([(a + b) / 2 for a, b in zip(_E2M1, _E2M1[1:])], device=x.device)
        code = torch.bucketize(size, bounds)                   # rounds a tie down
        halfway = (size[..., None] == bounds[1::2]).any(-1)    # ties whose lower code is odd round up
        return ((code + halfway).clamp(max=7) | torch.where(torch.signbit(x), 8, 0)).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Packs two elements along `dim` into each byte, the first in the low bits. If the number of elements is odd, the last byte
        contains only one."""
        data = self.data
        assert -data.dim() <= dim < data.dim(), f"the dimension {dim} is out of range for a tensor of rank {data.dim()}"
        if data.shape[dim] % 2:
            data = torch.cat([data, torch.zeros_like(data.narrow(dim, 0, 1))], dim)
        pairs = data.unflatten(dim, (-1, 2))
        at = dim + 1 if dim >= 0 else dim
        return pairs.select(at, 0) | pairs.select(at, 1) << 4

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        at = dim + 1 if dim >= 0 else dim
        data = torch.stack([packed_tensor & 15, packed_tensor >> 4], at if dim >= 0 else packed_tensor.ndim + 1 + dim)
        data = data.flatten(dim % packed_tensor.ndim, dim % packed_tensor.ndim + 1)
        return data.narrow(dim, 0, original_shape[dim]).type(torch.uint8)


class MXScaleTensor:
    """A tensor of E8M0 numbers: the byte x stands for 2^(x - 127), and 255 for NaN."""

    def __init__(self, data=None, size=None, device=None):
        assert data is not None or size is not None, "Either parameter data or size must be provided"
        self.device = device
        if data is None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            assert isinstance(data, torch.Tensor), "Parameter data must be a torch tensor"
            self.device = data.device
            self.data = self._encode(data)

    def random(self, low=None, high=None):
        """Sets random powers of two between `low` and `high`."""
        first = 0 if low is None else max(0, int(torch.log2(torch.tensor(low))) + 127)
        last = 254 if high is None else min(254, max(0, int(torch.log2(torch.tensor(high))) + 127))
        assert first <= last, "Low must be less than or equal to high"
        self.data = torch.randint(first, last + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        assert dtype == torch.float32, "Currently only float32 is supported for f8e8m0 to float conversion"
        values = torch.pow(2.0, self.data.float() - 127)
        return torch.where(self.data == 255, float("nan"), values)

    @staticmethod
    def _encode(x):
        bad = x.isnan() | x.isinf() | (x <= 0)
        exponents = torch.floor(torch.log2(torch.where(bad, 1.0, x.float()))) + 127
        return torch.where(bad, 255, exponents.clamp(0, 254)).to(torch.uint8)
