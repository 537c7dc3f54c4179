# SPDX-License-Identifier: MIT
"""triton.runtime.driver in neso: the driver that launches use."""
from .. import knobs
from ..backends import backends, select_driver


class DriverConfig:
    def __init__(self):
        self._default = self._active = None

    @property
    def default(self):
        if self._default is None:
            self._default = select_driver()
        return self._default

    @property
    def active(self):
        if self._active is None:
            self._active = self.default
        return self._active

    def set_active(self, driver):
        if self._active is not None and type(driver) is not type(self._active):
            knobs._replaced.append("driver")
        self._active = driver

    def reset_active(self):
        self._active = self.default


driver = DriverConfig()
__all__ = ["DriverConfig", "backends", "driver"]
