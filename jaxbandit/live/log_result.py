"""The log of a player as a `Result`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxbandit.live.history import History
from jaxbandit.live.real_arms import RealArms
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.request import recorded_times
from jaxbandit.simulation.telling import fingerprint
from jaxbandit.version import __version__


def log_result(log: History, arms: RealArms, policy: Any, times: Any) -> Result:
    """The plays with an answer as the counts of one run, up to each of the recorded rounds."""
    each = np.bincount(log.round)[1:]  # plays of each round
    if not len(each):
        raise ValueError("result: the player has no plays; choose and learn first")
    if len(set(each.tolist())) > 1:
        raise ValueError(
            f"result: {each.min()} to {each.max()} arms were played a round, and a result has one number; use history()"
        )
    times, label = recorded_times(times, len(each)), type(policy).__name__
    number, states = arms.table.shape
    answered = log.learned >= 0
    place = np.searchsorted(times, log.round[answered]), log.arm[answered], log.state[answered]
    shape = len(times) + 1, number, max(states, 1)  # the last entry has the rounds behind the last recorded one
    counts, rewards = np.zeros(shape, np.int32), np.zeros(shape[:2])
    np.add.at(counts, place, 1)
    np.add.at(rewards, place[:2], log.reward[answered])
    visits, sums = (a[:-1].cumsum(0, dtype=a.dtype)[None, None, None] for a in (counts, rewards))
    row = jax.tree.map(lambda leaf: np.asarray(leaf)[None], policy)
    return Result(
        scenarios=("real arms",),
        times=times,
        visits={label: visits},
        means=arms.means()[None],
        reward=arms.table[None],
        horizon=len(each),
        rounds=len(each),
        plays=int(each[0]),
        fingerprint={},
        carry={},
        provenance={
            "versions": {"jaxbandit": __version__, "jax": jax.__version__, "numpy": np.__version__},
            "policies": {label: {"class": label, "hyperparameters": fingerprint.hyperparameters(row, 1)}},
            "arms": list(arms.names),
        },
        recorded={} if states else {"rewards": {label: sums}},
        problem="real",
    )
