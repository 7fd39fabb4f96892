"""Gittins and Whittle indices of known chains, in float64 NumPy on the host, and helpers for discounted rewards; others
may take all that is listed."""

from jaxbandit.indices.elimination import gittins
from jaxbandit.indices.rounds import rounds_to_record
from jaxbandit.indices.start import with_start
from jaxbandit.indices.subsidy import WhittleIndices, whittle
from jaxbandit.indices.value import gittins_value

__all__ = ["WhittleIndices", "gittins", "gittins_value", "rounds_to_record", "whittle", "with_start"]
