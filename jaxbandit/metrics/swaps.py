"""Regret for replacing plays of one arm by plays of another: external, internal and swap regret."""

from __future__ import annotations

import numpy as np

from jaxbandit.metrics.counts import Counts, visits_of


def pair_regrets(result: Counts, label: str) -> np.ndarray:
    """What replacing every play of arm i by arm j would have gained, float64 [scenario, variant, run, time, i, j].

    Entry [i, j] is the sum over the rounds in which arm i was played of the reward of arm j minus that of arm i:
    realised rewards, from whole-number counts (or from sums of rewards where these have no finite table).

    Args:
      result: of `simulate` with `environments.full_information(arms)`, and one play a round.
      label: of a policy.

    Raises:
      ValueError: there is no such label or no recorded round, the outcomes of all arms were not recorded, or several
        arms were played a round.

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.full_information(jaxbandit.environments.rewards_table([[0, 1], [1, 0], [0, 1]]))
    >>> result = jaxbandit.simulate(arms, {"first": jaxbandit.Oracle([1.0, 0.0])}, runs=1, horizon=3)
    >>> pair_regrets(result, "first")[0, 0, 0, -1].tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    visits_of(result, label)
    if "outcomes" not in result.recorded:
        raise ValueError(
            "result: the outcomes of all arms were not recorded; make the arms with environments.full_information(arms)"
        )
    if result.plays > 1:
        raise ValueError(f"result: {result.plays} arms were played a round, and this regret is for one")
    sums = result.recorded["outcomes"][label]
    if result.reward.size:
        sums = np.einsum("cvrtijs,cjs->cvrtij", sums, result.reward)
    return np.asarray(sums - np.einsum("cvrtii->cvrti", sums)[..., None])


def external_regret(result: Counts, label: str) -> np.ndarray:
    """The reward of the best fixed arm of the rounds up to t minus that collected, [scenario, variant, run, time].

    Realised rewards, from `pair_regrets`. For a table of zeros and ones it is `regret`. It may be negative.

    Raises:
      ValueError: as in `pair_regrets`.

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.full_information(jaxbandit.bernoulli([0.9, 0.1]))
    >>> result = jaxbandit.simulate(arms, {"best": jaxbandit.Oracle([1.0, 0.0])}, runs=5, horizon=100)
    >>> float(external_regret(result, "best")[..., -1].max())
    0.0
    """
    return np.asarray(pair_regrets(result, label).sum(-2).max(-1))


def internal_regret(result: Counts, label: str) -> np.ndarray:
    """The largest gain of replacing every play of one arm by another arm, [scenario, variant, run, time].

    The maximum over i and j of `pair_regrets`, and so at least 0; at most `swap_regret`. The play of all players of a
    game whose internal regret is o(t) tends to the game's correlated equilibria.

    Raises:
      ValueError: as in `pair_regrets`.

    Source: Foster and Vohra 1999, of which only the beginning was opened; Blum and Mansour 2007, of which only the
    abstract was.

    >>> import jaxbandit
    >>> table = jaxbandit.environments.rewards_table([[1, 0], [0, 1], [0, 1]])
    >>> arms = jaxbandit.environments.full_information(table)
    >>> result = jaxbandit.simulate(arms, {"first": jaxbandit.Oracle([1.0, 0.0])}, runs=1, horizon=3, times=[1, 2, 3])
    >>> internal_regret(result, "first")[0, 0, 0].tolist()
    [0.0, 0.0, 1.0]
    """
    return np.asarray(pair_regrets(result, label).max((-2, -1)))


def swap_regret(result: Counts, label: str) -> np.ndarray:
    """The largest gain of replacing the arms played by those of any map of arms, [scenario, variant, run, time].

    The sum over i of the maximum over j of `pair_regrets`: at least `internal_regret` and `external_regret`, at most K
    times `internal_regret`.

    Raises:
      ValueError: as in `pair_regrets`.

    Source: Blum and Mansour 2007, of which only the abstract was opened.

    >>> import jaxbandit
    >>> arms = jaxbandit.environments.full_information(jaxbandit.bernoulli([0.9, 0.1]))
    >>> result = jaxbandit.simulate(arms, {"U": jaxbandit.Uniform()}, runs=5, horizon=100)
    >>> bool((swap_regret(result, "U") >= internal_regret(result, "U")).all())
    True
    """
    return np.asarray(pair_regrets(result, label).max(-1).sum(-1))
