# SPDX-License-Identifier: MIT
"""triton.tools.ragged_tma in neso: descriptors for an array of which a kernel accesses only rows [first, first + count), where the kernel
computes first and count at run time.

A descriptor's bounds are fixed when the program makes it. So the ragged dimension gets MOST rows, and a block at row r of the range is
accessed at row MOST - count + r. Rows of the range from `count` on are then out of bounds. Two additional outer dimensions compensate for
this offset: their indices move the address forward by first + count rows, and backward by MOST rows. The negative stride is written as 2^34
- stride. MOST times 2^34 is a multiple of 2^64, so the address wraps around to the right address.
"""
import triton
import triton.language as tl

from .tensor_descriptor import TensorDescriptor

MOST = tl.constexpr(1 << 30)
UNLIMITED = 0x7FFF0000


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """Returns a descriptor of a tensor of two or three dimensions for load_ragged, store_ragged and atomic_add_ragged."""
    shape, rank = list(T.shape), T.dim()
    ragged_dim += rank if ragged_dim < 0 else 0
    assert len(block_shape) == rank, f"expected {rank} sizes of a block, found {len(block_shape)}"
    assert rank <= 3, f"a ragged tensor has at most 3 dimensions, found {rank}"
    assert 0 <= ragged_dim < rank - 1, "the last dimension cannot be ragged"
    assert shape[ragged_dim] <= MOST.value, "a ragged dimension has at most 2^30 rows"
    shape[ragged_dim] = MOST.value
    step = T.stride(ragged_dim)
    return TensorDescriptor(T, [UNLIMITED, UNLIMITED] + shape, [(1 << 34) - step, step] + list(T.stride()), [1, 1] + list(block_shape))


@triton.jit
def to_ragged_indices(batch_offset, batch_size, row):
    return MOST, batch_offset + batch_size, MOST - batch_size + row


@triton.jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """Loads a block at `coords` of rows [batch_offset, batch_offset + batch_size); elements outside of them are 0."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "expected a descriptor of create_ragged_descriptor")
    back, forth, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    data = TMA.load([back, forth] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:])
    return tl.reshape(data, data.shape[2:])


@triton.jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Stores the elements of a block that are in rows [batch_offset, batch_offset + batch_size)."""
    back, forth, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.store([back, forth] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:], tl.reshape(data, [1, 1] + data.shape))


@triton.jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds the elements of a block that are in rows [batch_offset, batch_offset + batch_size)."""
    back, forth, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.atomic_add([back, forth] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:], tl.reshape(data, [1, 1] + data.shape))
