"""Functions taken apart into operations on single numbers, the form that a kernel can keep in registers."""

from jaxbandit.fast.gpu.unrolled.functions import repeat, unrolled
from jaxbandit.fast.gpu.unrolled.numbers import Key, Numbers, UnsupportedError, objects

__all__ = ["Key", "Numbers", "UnsupportedError", "objects", "repeat", "unrolled"]
