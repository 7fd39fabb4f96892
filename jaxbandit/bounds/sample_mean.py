"""UCB-SM: its constant L, its bound, and the paper's condition under which that is above TV-KL-UCB's."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from jaxbandit import chains
from jaxbandit.arguments import choice, number
from jaxbandit.base import described
from jaxbandit.bounds.arms import Bound, MarkovEnvironment, gaps, irreducible, two_state_arms

Version = Literal["2010", "2012", "paper"]
Gap = Literal["eigenvalue", "multiplicative", "none"]


LEAST_SIGMA = 1 / 1440


@described
class Condition(NamedTuple):
    """The condition of the paper's eigenvalue theorem.

    Fields:
      sigma: [K], 1 minus each arm's second eigenvalue.
      least: the smallest of them.
      holds: whether it is as large as the theorem asks.
    """

    sigma: np.ndarray
    least: float
    holds: bool


def ucb_sm_constant(environment: MarkovEnvironment, version: Version = "2012", gap: Gap = "multiplicative") -> float:
    """The L that the analysis of `UCBSM` asks for: c S^2 r^2 p^2 / e.

    r is the largest reward in absolute value, p the largest stationary probability of a state or of its complement, e
    the least gap of an arm.

    Args:
      version: "2010" (c = 90), "2012" (c = 112), or "paper" (c = 90 with r = p = 1: with gap="eigenvalue" and two
        states its 360 / min sigma).
      gap: "eigenvalue" (1 minus the second eigenvalue, for reversible chains, as in 2010), "multiplicative" (that of
        the chain times its reversal, as in 2012; sigma (2 - sigma) for two states), or "none" (e = 1). The 343 of the
        paper's authors' code is version "2012" with gap "none" in scenarios 1 and 2.

    Raises:
      ValueError: an arm that is not irreducible, not reversible, or whose symmetrisation is not irreducible.

    Source: Tekin and Liu 2010, theorem 1, and 2012, theorem 1; the proof of the paper's theorem 2.

    >>> from jaxbandit import two_state
    >>> arms = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
    >>> round(ucb_sm_constant(arms, gap="none"), 6), round(ucb_sm_constant(arms, "paper", "eigenvalue"), 6)
    (343.0, 450.0)
    """
    choice("version", version, get_args(Version))
    choice("gap", gap, get_args(Gap))
    transition = irreducible(environment)
    scale = 1.0
    if version != "paper":
        laws = np.stack([chains.stationary(rows) for rows in transition])
        scale = float(np.abs(environment.reward).max() * np.maximum(laws, 1 - laws).max()) ** 2  # type: ignore[arg-type]
    least = 1.0
    if gap != "none":
        eigenvalue_gaps = []
        for arm, rows in enumerate(transition):
            try:
                eigenvalue_gaps.append(chains.eigenvalue_gap(rows, symmetrise=gap == "multiplicative"))
            except ValueError as error:
                raise ValueError(f"environment: arm {arm}: {error}") from None
        least = min(eigenvalue_gaps)
        if least < 1e-14:
            raise ValueError(
                f"environment: arm {int(np.argmin(eigenvalue_gaps))} has no {gap} gap, so that L would be infinite"
            )
    return float((112 if version == "2012" else 90) * transition.shape[1] ** 2 * scale / least)


def ucb_sm_upper(environment: MarkovEnvironment, L: float = 343.0) -> Bound:
    """Constants of UCB-SM's bound R_n <= log n times the sum over arms of 4 L / gap, and terms that do not grow.

    It is for any number of states, and proved only for an L of at least `ucb_sm_constant(environment)`.

    Raises:
      ValueError: L is not positive, or an arm is not irreducible.

    Source: Tekin and Liu 2010, theorem 1; the proof of the paper's theorem 2.

    >>> from jaxbandit import bernoulli
    >>> ucb_sm_upper(bernoulli([0.75, 0.5]), L=100.0).per_arm.tolist()
    [0.0, 1600.0]
    """
    L = number("L", L, 0, above=True)
    irreducible(environment)
    gap = gaps(environment)
    per_arm = np.where(gap > 0, 4 * L / np.where(gap > 0, gap, 1), 0)
    return Bound(f"upper bound of UCB-SM, L = {L:,.4g}", "all irreducible arms", per_arm, per_arm.sum())


def eigenvalue_condition(environment: MarkovEnvironment) -> Condition:
    """The paper's condition min sigma >= 1/1440 for TV-KL-UCB's bound to be below UCB-SM's with L = 360 / min sigma.

    sigma = p01 + p10 is 1 minus the second eigenvalue, and can exceed 1. I.i.d. suboptimal arms need no condition, and
    in fact the others need none either: with d(p, q) >= (p - q)^2 / (2 max(p, q)) in place of Pinsker's inequality, the
    constant of each arm is at most 4 / (gap sigma), 360 times below UCB-SM's.

    Raises:
      ValueError: as `upper_asymptotic`.

    Source: the paper's theorem 2.

    >>> from jaxbandit import two_state
    >>> condition = eigenvalue_condition(two_state([0.5, 0.0003], [0.4, 0.0003]))
    >>> round(condition.least, 6), condition.holds
    (0.0006, False)
    """
    sigma = np.array([arm.sigma for arm in two_state_arms(environment)])
    return Condition(sigma, float(sigma.min()), bool(sigma.min() >= LEAST_SIGMA))
