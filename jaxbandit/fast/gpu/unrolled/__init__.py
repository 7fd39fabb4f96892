"""Functions on arrays taken apart into operations on single numbers, which a GPU kernel can keep in registers."""

from jaxbandit.fast.gpu.unrolled.functions import repeat, unrolled
from jaxbandit.fast.gpu.unrolled.numbers import Key, Numbers, UnsupportedError, objects

__all__ = ["Key", "Numbers", "UnsupportedError", "objects", "repeat", "unrolled"]
