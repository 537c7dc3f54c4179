# SPDX-License-Identifier: MIT
"""triton.errors in neso."""


class TritonError(Exception):
    """What all errors of triton have in common."""
