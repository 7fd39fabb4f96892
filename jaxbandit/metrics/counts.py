"""What metrics need of a result, and its counts."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from jaxbandit.arguments import excerpt, has


class Kind(NamedTuple):
    """How the plays of a problem can be judged."""

    arms: str  # in errors
    by_means: bool = False  # a play of an arm is worth the arm's mean
    best_arm: bool = True  # one arm is the best in every round
    known: bool = True  # the means of the arms are known, and with them regret


KINDS = {
    **{"rested": Kind("rested arms", by_means=True), "hidden": Kind("hidden arms", by_means=True)},
    **{"restless": Kind("restless arms"), "observed": Kind("observed arms"), "restarting": Kind("restarting arms")},
    **{"changing": Kind("arms that change", best_arm=False), "rotting": Kind("arms that rot", best_arm=False)},
    "costly": Kind("arms that cost", best_arm=False),
    "sleeping": Kind("arms that are not offered in every round", best_arm=False),
    "colliding": Kind("arms of several players", best_arm=False),
    "decision process": Kind("a decision process", best_arm=False),
    "real": Kind("real arms", best_arm=False, known=False),  # of a player, see `jaxbandit.live`
}


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
    def recorded(self) -> dict[str, dict[str, np.ndarray]]: ...  # "rewards" of each arm are used if there is no table
    @property
    def plays(self) -> int: ...  # arms played a round
    @property
    def problem(self) -> str: ...  # what the environment declares, a key of `KINDS`
    @property
    def comparator(self) -> np.ndarray | None: ...  # [scenario], [scenario, horizon], of episodes [scenario, H, S]
    @property
    def comparator_name(self) -> str | None: ...  # what the environment calls it
    @property
    def cost(self) -> np.ndarray | None: ...  # [scenario, arm], of a play where all arms pay, as "stays" count
    @property
    def passive_reward(self) -> np.ndarray | None: ...  # [scenario, arm, state], of arms not played; None for `reward`


def kind(result: Counts) -> Kind:
    """How the problem can be judged; one that an environment has named itself is judged as rested arms are."""
    return KINDS.get(result.problem, KINDS["rested"])


def check_result(result: Counts) -> None:
    """Raise ValueError unless the result has what metrics need."""
    parts = "visits times means reward plays problem comparator comparator_name cost passive_reward"
    has("result", result, "a result of simulate", *parts.split())


def check_label(result: Counts, label: str, argument: str = "label") -> None:
    """Raise ValueError unless the result has this label."""
    check_result(result)
    if not isinstance(label, str) or label not in result.visits:
        raise ValueError(f"{argument}: {excerpt(label)} is not in the result; it has {', '.join(result.visits)}")


def check_known(result: Counts, name: str) -> None:
    """Raise ValueError, which names the metric, unless the means of the arms are known."""
    if not kind(result).known:
        raise ValueError(
            f"result: {name} is measured against the means of the arms, and nobody knows those of real arms; see what "
            "was earned by metrics.discounted_reward or Player.report, what was played by plotting.plot_pulls"
        )


def has_best_arm(result: Counts) -> bool:
    """Whether one arm is the best in every round, so that plays of others measure a loss."""
    return kind(result).best_arm and result.cost is None


def check_best_arm(result: Counts, name: str) -> None:
    """Raise ValueError, which names the metric, unless one arm is known to be the best in every round."""
    check_known(result, name)
    if not has_best_arm(result):
        arms = kind(result).arms if result.cost is None else "arms that all pay, played or not"
        or_realised = "" if result.problem == "sleeping" else ", or realised_regret"
        raise ValueError(
            f"result: {name} is for arms with means of their own, and this result is of {arms}; use regret{or_realised}"
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
    return visits_of(result, label).sum(-1, dtype=np.int64)


def kept_reward(result: Counts) -> np.ndarray:
    """What a state of an arm that is not played pays where all arms pay, [scenario, arm, state]."""
    return result.reward if result.passive_reward is None else result.passive_reward


def gain_of_plays(result: Counts, cost: np.ndarray) -> np.ndarray:
    """What a state pays more if its arm is played, less the cost of a play, [scenario, arm, state]."""
    return result.reward - kept_reward(result) - cost[:, :, None]


def collected(result: Counts, label: str) -> np.ndarray:
    """All rewards up to the recorded rounds, less what plays cost: [scenario, variant, run, time]."""
    visits = visits_of(result, label)
    if not result.reward.size:
        return result.recorded["rewards"][label].sum(-1)
    if result.cost is not None:
        rewards = np.einsum("cvrtks,cks->cvrt", result.recorded["stays"][label], kept_reward(result))
        return rewards + np.einsum("cvrtks,cks->cvrt", visits, gain_of_plays(result, result.cost))
    return np.einsum("cvrtks,cks->cvrt", visits, result.reward)
