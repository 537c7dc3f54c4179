# SPDX-License-Identifier: MIT
"""triton.language.extra.cuda.libdevice in neso: the same as triton.language.extra.libdevice."""
from ..libdevice import *  # noqa: F401,F403
from ..libdevice import __getattr__  # noqa: F401
