# SPDX-License-Identifier: MIT
"""triton.experimental in neso: a package without modules. Importing triton.experimental.gluon says why (triton/_absent.py)."""
