# SPDX-License-Identifier: MIT
"""triton.errors in neso."""


class TritonError(Exception):
    """The base class of all errors of triton."""
