# SPDX-License-Identifier: MIT
"""triton.runtime.errors in neso: the errors that launches raise."""
from ..errors import TritonError


class _Message(TritonError):
    prefix = ""

    def __init__(self, error_message=None):
        super().__init__(error_message)
        self.error_message = error_message

    def __str__(self):
        return self.prefix + (self.error_message or "")


class InterpreterError(_Message):
    pass


class PTXASError(_Message):
    prefix = "PTXAS error: "


class AutotunerError(_Message):
    prefix = "Autotuner error: "


class OutOfResources(TritonError):
    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)
        self.required, self.limit, self.name = required, limit, name

    def __str__(self):
        return (f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}. "
                "Reducing block sizes or `num_stages` may help.")
