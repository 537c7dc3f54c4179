# SPDX-License-Identifier: MIT
"""triton.runtime._allocation in neso: allocators of workspaces.

A program can set and read an allocator. The allocator is never called, because neso's kernels need no workspace.
"""
from contextvars import ContextVar


class NullAllocator:
    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set. "
                           "Use triton.set_allocator to specify an allocator.")


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("_allocator", default=_NULL_ALLOCATOR)
_profile_allocator = ContextVar("_profile_allocator", default=_NULL_ALLOCATOR)


def set_allocator(allocator):
    _allocator.set(allocator)


def set_profile_allocator(allocator):
    _profile_allocator.set(_NULL_ALLOCATOR if allocator is None else allocator)
