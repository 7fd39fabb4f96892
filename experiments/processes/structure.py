"""Rested arms, and the same arms as one decision process, whose player does not know that arms stand still."""

from __future__ import annotations

from typing import Literal

import jax
import numpy as np

import jaxbandit
from experiments.processes.problems import IMED_RL, KNOWN, UNNORMALISED
from jaxbandit import MarkovArms, Policy, Result, atlas, metrics
from jaxbandit.environments import DecisionProcess, as_decision_process, decision_process
from jaxbandit.reports.tables import Row, in_short, moments

MOST_ARMS = 5  # of scenario 1
FEW = 4  # states
ARMS, JOINT, MEANS = "arms", "joint states", "joint states, mean pay"
Rewards = Literal["known", "learned"]


def arms_of(number: int) -> MarkovArms:
    """The first arms of scenario 1; the best one is the first."""
    return jax.tree.map(lambda leaf: leaf[:number], atlas["scenario 1"].arms)


def joint(arms: MarkovArms) -> DecisionProcess:
    """The arms as one process, in which a play pays what the arm shows before it moves.

    What is collected differs from what the arms pay by the rewards of each arm's first and last state, so that best
    gains are the same. `as_decision_process` pays the mean of what the arm may show next instead: of arms with two
    states that tells the row, so that who knows what is paid has nothing to learn.
    """
    process = as_decision_process(arms)
    count, each = np.shape(arms.reward)
    states = np.stack(np.unravel_index(np.arange(each**count), (each,) * count))  # [K, S^K]
    paid = np.take_along_axis(np.asarray(arms.reward, float), states, axis=1)
    return decision_process(process.transition, paid, np.asarray(process.initial))


def policies_of_process(process: DecisionProcess, rewards: Rewards) -> dict[str, Policy]:
    """Policies of a process that know what is paid, or learn it; KL-UCRL only where states are few, as it is slow."""
    policies: dict[str, Policy] = {KNOWN: jaxbandit.KnownProcess.of(process), "UCRL2": jaxbandit.UCRL2(rewards=rewards)}
    if np.shape(process.reward)[1] <= FEW:
        policies["KL-UCRL"] = jaxbandit.KLUCRL(rewards=rewards)
    policies |= {"PSRL": jaxbandit.PSRL(rewards=rewards), IMED_RL: jaxbandit.IMEDRL(rewards=rewards)}
    return policies | {UNNORMALISED: jaxbandit.IMEDRL(rewards=rewards, normalised=False)}


def regret_of_plays(result: Result, label: str) -> np.ndarray:
    """Sum over arms of their plays times how much less than the best they pay on average, [run, time].

    The same for arms and for a process whose actions are arms, where `metrics.pseudo_regret` is not defined in general.
    """
    plays = result.visits[label][0, 0].sum(-1, dtype=np.int64)  # [R, T, K]
    return np.asarray(plays @ (result.means[0].max() - result.means[0]))


def share_linear(result: Result, label: str) -> float:
    """The share of runs that play worse arms in a tenth or more of the second half of the rounds."""
    plays = result.visits[label][0, 0].sum(-1, dtype=np.int64)
    middle = int(np.searchsorted(result.times, result.times[-1] // 2))
    late = plays[:, -1] - plays[:, middle]
    worse = late @ (result.means[0] < result.means[0].max())
    return float((10 * worse >= late.sum(-1)).mean())


def rows(results: dict[str, Result]) -> list[Row]:
    """Regret of all policies on the arms and on the processes, and how many times the least of those on the arms."""
    arms = results[ARMS]
    least = min(float(regret_of_plays(arms, label)[:, -1].mean()) for label in arms.labels)
    table: list[Row] = []
    for name, result in results.items():
        for label in result.labels:
            regret = regret_of_plays(result, label)[:, -1]
            table.append(
                {
                    "played on": name,
                    "policy": label,
                    **moments(regret, "regret"),
                    "linear share": share_linear(result, label),
                    "times the least": float(regret.mean()) / least,
                    "less collected": in_short(metrics.realised_regret(result, label)[0, 0, :, -1]),
                }
            )
    return table
