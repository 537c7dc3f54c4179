# SPDX-License-Identifier: MIT
"""triton.backends.driver in neso: the base class of drivers."""


class DriverBase:
    @classmethod
    def is_active(cls):
        raise NotImplementedError

    def get_current_target(self):
        raise NotImplementedError


class GPUDriver(DriverBase):
    pass
