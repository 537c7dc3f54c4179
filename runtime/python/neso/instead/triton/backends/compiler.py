# SPDX-License-Identifier: MIT
"""triton.backends.compiler in neso: targets, and the base class of backends."""
from dataclasses import dataclass
from enum import Enum
from typing import Union


@dataclass(frozen=True)
class GPUTarget:
    backend: str
    arch: Union[int, str]
    warp_size: int


class Language(Enum):
    TRITON = 0
    GLUON = 1


class BaseBackend:
    supports_native_tensor_specialization = True

    def __init__(self, target):
        self.target = target

    @staticmethod
    def supports_target(target):
        raise NotImplementedError

    @staticmethod
    def parse_attr(desc):
        """Returns the attributes for a specialization's letters: "D" means divisible by 16."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        return "D" if arg % 16 == 0 and kwargs.get("align", False) else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        return "D" if arg.data_ptr() % 16 == 0 and kwargs.get("align", False) else ""
