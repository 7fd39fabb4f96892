"""What a result holds: counts at the recorded rounds, and what is needed to continue them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """The data of a `Result`, without its faces and its file."""

    scenarios: tuple[str, ...]
    times: np.ndarray  # [T] int64, recorded rounds
    visits: dict[str, np.ndarray]  # label to int32 [scenario, variant, run, time, arm, state], the state moved to
    means: np.ndarray  # [scenario, arm] float64
    reward: np.ndarray  # [scenario, arm, state] float64; no state where rewards have no finite table
    horizon: int  # rounds asked for
    rounds: int  # rounds played
    plays: int  # arms played a round
    fingerprint: dict[str, Any]  # what the counts depend on
    carry: dict[str, list[np.ndarray]]  # leaves of each label's carry after `rounds`, or none
    provenance: dict[str, Any] = field(default_factory=dict)  # to be read: versions, each policy's class and values
    recorded: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # name to label to [c, v, r, time, ..]
    problem: str = "rested"  # what the environment declares (see `base.Environment`)
    # [scenario] float64, what it declares; of episodes [scenario, H, S]; None: the sum of the M largest means
    comparator: np.ndarray | None = None
    comparator_name: str | None = None  # what that is, where the environments say so
    # [scenario, arm] float64, what a play costs, where all arms pay, played or not; None where those played pay
    cost: np.ndarray | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.visits)

    @property
    def runs(self) -> int:
        """Independent runs of every policy."""
        return int(next(iter(self.visits.values())).shape[2])

    @property
    def complete(self) -> bool:
        """Whether all rounds asked for were played."""
        return self.rounds == self.horizon

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for, by argument, as far as the counts depend on it."""
        return dict(self.fingerprint.get("asked", {}))

    def hyperparameters(self, label: str) -> dict[str, list[Any]]:
        """By name, the values of the policy's variants, static fields included; empty if the result does not say.

        >>> import jaxbandit
        >>> policies = {"KL": [jaxbandit.UCBSM(L=L) for L in (1.0, 343.0)]}
        >>> jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.4]), policies, runs=2, horizon=9).hyperparameters("KL")
        {'L': [1.0, 343.0]}
        """
        policies: dict[str, dict[str, Any]] = self.provenance.get("policies", {})
        return dict(policies[label]["hyperparameters"]) if isinstance(label, str) and label in policies else {}


def stopped(result: Contents) -> str:
    """The mark of a result that has not all the rounds that were asked for; an empty text for one that has."""
    return "" if result.complete else f"stopped after round {result.rounds:,} of {result.horizon:,}"
