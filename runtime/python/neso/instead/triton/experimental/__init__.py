# SPDX-License-Identifier: MIT
"""triton.experimental in neso: a package without modules. The error of an import of triton.experimental.gluon gives the reason
(triton/_absent.py)."""
