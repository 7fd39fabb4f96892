"""Gittins and Whittle indices of known chains, Gittins indices of Beta priors, the relaxed problem and the best mixture
of arms that cost, in float64 on the host; helpers for discounted rewards; others may take all that is listed, and
`subsidy.whittle_of` and `relaxed`, of `KnownArms`, `posterior_layers` and `posterior_tables`."""

from jaxbandit.indices.beta_priors import gittins_beta
from jaxbandit.indices.beta_rows import gittins_beta_rows
from jaxbandit.indices.elimination import gittins
from jaxbandit.indices.mixture import Mixture, best_mixture
from jaxbandit.indices.record_rounds import rounds_to_record
from jaxbandit.indices.relaxed import Relaxation, relaxation
from jaxbandit.indices.start import with_start
from jaxbandit.indices.subsidy import WhittleIndices, whittle
from jaxbandit.indices.value import gittins_value

__all__ = [
    "Mixture",
    "Relaxation",
    "WhittleIndices",
    "best_mixture",
    "gittins",
    "gittins_beta",
    "gittins_beta_rows",
    "gittins_value",
    "relaxation",
    "rounds_to_record",
    "whittle",
    "with_start",
]
