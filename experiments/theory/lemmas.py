"""Checks of docs/optimality.md with numbers: each row could say "no" if its lemma were false for these chains.

Rows with an interval are of runs of the policy. They hold unless the low end of the 95 % interval is above the bound:
"yes" means that the runs do not contradict the lemma. The row of theorem 2 says the least. Growth in a decade comes to
its limit from below, so it can be below the constant though the theorem were false.

Where a bound is an infinite sum over T, the number of plays, it is cut off at `longest`: what is left out would only
make it larger, so that a row which holds says no less.
"""

from __future__ import annotations

from experiments.reports.tables import Row
from experiments.theory.arms import ARMS, MEAN
from experiments.theory.chains_and_types import cycles, exact_types, likelihoods, means, perturbed
from experiments.theory.edge_of_class import edge
from experiments.theory.play import play
from experiments.theory.rounds import bad_arms, missed, missed_bound, plays_of_bad_arms, tours


def check(runs: int = 300, horizon: int = 100_000, longest: int = 400, seed: int = 0) -> list[Row]:
    """Rows of all checks: lemma, what, bound, measured, holds ("yes" or "no").

    Args:
      runs: of the policy, at least 2.
      horizon: of these runs, a power of 10, at least 1,000; plays are compared after every decade from 100 on.
      longest: the number of plays at which sums over T are cut off, at least 100.
      seed: of the chance.

    Raises:
      ValueError: one of these is too small, or the horizon is not a power of 10.
    """
    if runs < 2:
        raise ValueError(f"runs: {runs}; a mean with an interval needs 2")
    if longest < 100:
        raise ValueError(f"longest: {longest}; with less than 100 plays the sums say little")
    horizons = tuple(10**power for power in range(2, len(str(horizon))))
    if len(horizons) < 2 or horizons[-1] != horizon:
        raise ValueError(f"horizon: {horizon} is not a power of 10 from 1,000 on")
    seen, bound = play(ARMS, MEAN, horizons, runs, seed), missed_bound(longest)
    return [
        *means(seed),
        *perturbed(seed),
        *exact_types(),
        *likelihoods(longest),
        *edge(seed),
        *cycles(seed),
        *tours(longest),
        *missed(seen, horizons, bound),
        *bad_arms(longest),
        *plays_of_bad_arms(seen, horizons, bound, longest),
    ]
