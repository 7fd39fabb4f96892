"""What metrics need of a result, and its counts."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from jaxbandit.arguments import has, shown

NO_BEST_ARM = ("changing", "rotting", "decision process")  # problems in which no arm is the best one throughout


class Counts(Protocol):
    """What metrics need of a result."""

    @property
    def times(self) -> np.ndarray: ...  # [T], recorded rounds
    @property
    def visits(self) -> dict[str, np.ndarray]: ...  # label to [scenario, variant, run, time, arm, state]
    @property
    def means(self) -> np.ndarray: ...  # [scenario, arm]
    @property
    def reward(self) -> np.ndarray: ...  # [scenario, arm, state]; no state where rewards have no finite table
    @property
    def recorded(self) -> dict[str, dict[str, np.ndarray]]: ...  # its "rewards", what each arm has paid, are used then
    @property
    def plays(self) -> int: ...  # arms played a round
    @property
    def problem(self) -> str: ...  # what the environment declares
    @property
    def comparator(
        self,
    ) -> np.ndarray | None: ...  # [scenario], of episodes [scenario, H, S], or None: the M best means
    @property
    def comparator_name(self) -> str | None: ...  # what that is, where the environment says so
    @property
    def cost(
        self,
    ) -> np.ndarray | None: ...  # [scenario, arm], what a play costs where all arms pay, which "stays" tell


def check_result(result: Counts) -> None:
    """Refuse a thing that lacks what metrics need of a result of `simulate`.

    Raises:
      ValueError: what it is.
    """
    has(
        "result",
        result,
        "a result of simulate",
        *["visits", "times", "means", "reward", "plays", "problem", "comparator", "comparator_name", "cost"],
    )


def check_label(result: Counts, label: str, argument: str = "label") -> None:
    """Refuse a label that the result does not have.

    Raises:
      ValueError: the argument's name and the labels there are.
    """
    check_result(result)
    if not isinstance(label, str) or label not in result.visits:
        raise ValueError(f"{argument}: {shown(label)} is not in the result; it has {', '.join(result.visits)}")


def has_best_arm(result: Counts) -> bool:
    """Whether some arm is the best one throughout, so that plays of others measure a loss."""
    return result.problem not in NO_BEST_ARM and result.cost is None


def check_best_arm(result: Counts, name: str) -> None:
    """Refuse results in which no arm is the best one throughout, so that plays of others do not measure a loss."""
    if not has_best_arm(result):
        kinds = {"changing": "arms that change", "rotting": "arms that rot", "decision process": "a decision process"}
        kind = kinds.get(result.problem, "arms that all pay, played or not")
        raise ValueError(
            f"result: {name} is for arms with means of their own, and this result is of {kind}; use regret, or "
            "realised_regret"
        )


def visits_of(result: Counts, label: str) -> np.ndarray:
    check_label(result, label)
    if not len(result.times):
        raise ValueError(
            "result: stopped before its first recorded round; continue it with simulate(..., resume=result)"
        )
    return result.visits[label]


def plays_of(result: Counts, label: str) -> np.ndarray:
    """[scenario, variant, run, time, arm] int64."""
    return np.asarray(visits_of(result, label).sum(-1, dtype=np.int64))


def collected(result: Counts, label: str) -> np.ndarray:
    """All rewards up to the recorded rounds, less what plays cost: [scenario, variant, run, time]."""
    visits = visits_of(result, label)
    if not result.reward.size:
        return np.asarray(result.recorded["rewards"][label].sum(-1))
    if result.cost is not None:
        rewards = np.einsum("cvrtks,cks->cvrt", result.recorded["stays"][label], result.reward)
        return np.asarray(rewards - np.einsum("cvrtks,ck->cvrt", visits, result.cost))
    return np.asarray(np.einsum("cvrtks,cks->cvrt", visits, result.reward))
