"""Restless arms estimated from observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.arguments import choice, number
from jaxbandit.base import described
from jaxbandit.environments.rested.columns import Gaps, text_of_fit
from jaxbandit.environments.rested.fitting import check_recurrent, check_rows, states_and_rewards
from jaxbandit.environments.rested.independence import LEAST
from jaxbandit.environments.restless_bandits.constructor import restless
from jaxbandit.environments.restless_bandits.effects import Effect, effect_of_plays
from jaxbandit.environments.restless_bandits.restless_arms import RestlessArms
from jaxbandit.environments.restless_bandits.transition_tables import restless_transitions


@described
class RestlessFit(NamedTuple):
    """Estimated restless arms and the errors of the estimates; `print` shows a line for each arm.

    Fields:
      arms: the estimated arms, ready for `simulate`.
      labels: K texts, the arms' names in `data`, in the order of `arms`.
      states: S texts, the names of the states.
      counts: [K, 2, S, S], transitions seen: [:, 0] in rounds in which the arm was not played, [:, 1] when played.
      transition: [K, S, S], the estimated law of an arm that is played.
      passive: [K, S, S], the estimated law of an arm that is not played.
      standard_errors: [K, 2, S, S], of `passive` and `transition`; NaN for a row without a transition.
      distance: [K], the largest total variation between the two rows of a state.
      p_values: [K], of the test that a play changes nothing; NaN where nothing could be tested.
      permuted: K texts, what the test permuted: "rounds", "sequences" or "both"; "" where nothing could be tested.
      verdicts: [K] texts, "effect", "no effect" or "undecided".
      reasons: K texts, why the data are too few: the state that was hardly ever left, or that no outcome of the lot
        reaches the level; empty for the other arms.
      reward: [K, S], reward of each state.
      gaps: the number of places where a sequence was split because rounds are missing.
    """

    arms: RestlessArms
    labels: tuple[str, ...]
    states: tuple[str, ...]
    counts: np.ndarray
    transition: np.ndarray
    passive: np.ndarray
    standard_errors: np.ndarray
    distance: np.ndarray
    p_values: np.ndarray
    permuted: tuple[str, ...]
    verdicts: np.ndarray
    reasons: tuple[str, ...]
    reward: np.ndarray
    gaps: int

    def __str__(self) -> str:
        width = max(len(label) for label in ("arm", *self.labels))
        lines = [f"{'arm':{width}s}    played  not played  distance   p-value  permuted   verdict"]
        for arm, label in enumerate(self.labels):
            reason = f": {self.reasons[arm]}" if self.reasons[arm] else ""
            waited, played = self.counts[arm].sum((-1, -2))
            lines.append(
                f"{label:>{width}s}  {played:8,d}  {waited:10,d}  {self.distance[arm]:8.3f}  "
                f"{self.p_values[arm]:8.2g}  {self.permuted[arm]:9s}  {self.verdicts[arm]}{reason}"
            )
        return text_of_fit(lines, self.gaps, width)


def fit_restless(
    data: Any,
    reward: ArrayLike | Mapping[str, float],
    *,
    columns: Mapping[str, str] | None = None,
    gaps: Gaps = "error",
    prior: float = 0.0,
    level: float = 0.01,
) -> RestlessFit:
    """Restless arms from a table of states and actions: maximum likelihood, or the posterior mean under a prior.

    With N[k, a, s, s'] = `counts` + `prior` and n[k, a, s] = sum over s' of N[k, a, s, s'], the rows are N / n, and
    their standard errors sqrt(p (1 - p) / n), so that a pseudo-count weighs as a transition seen. Action a = 1 is a
    play (`transition`), a = 0 none (`passive`). A row without transitions (n = 0) is that of the same state under the
    other action, as if a play changed nothing; if that is missing, too, the frequencies of all states that follow.

    Args:
      data: a table with a line for each arm and round: the path of a text file (UTF-8) in whose lines commas, tabs or
        semicolons separate columns, a DataFrame, or a dictionary of arrays. It has the columns arm; state; action, 1 if
        the arm was played in this round and 0 if not; and round, whole numbers, or next_state; and sequence if there is
        one. An arm's lines may be of one sequence, or of several, as a group of people who are taken to be alike: arm
        is then the group, and sequence the person. Without next_state, a transition is seen from each round of
        a sequence to the next round, in lines that are sorted by round; the last action of a sequence may be missing.
        With next_state each line is a transition; if there are rounds, too, both must agree.
      reward: [S] or [K, S], what each state pays; states are then numbers, 0 to S-1. Or a dictionary from the states'
        names in the table to what they pay.
      columns: the table's names of the columns, where they differ: {"arm": "subject", "round": "week"}.
      gaps: without next_state, what a missing round is: "error", or "split", which leaves out the unseen transition.
      prior: pseudo-count added to every transition of every arm, with and without a play.
      level: of the test of each arm, in (0, 1): at most this share of arms whose law no play changes is said to have
        an effect.

    The verdict on an arm says whether a play changes the law of the next state. If it does not, what would have been
    seen with other plays is known, and the test is exact if plays are drawn by lot; the members of a group may differ.

    - If actions change within a sequence, by a lot in each round whose probabilities depend on the sequence and its
      state: all ways to distribute the plays over the rounds of a sequence in a state are equally likely (Fisher's
      exact test). `level` is divided among the states, or among all pairs of them if there are more than two.
    - If no sequence changes its action, by a lot for each sequence, whose probabilities depend on its first state: the
      sequences played are permuted among those that began alike, in all ways or, beyond 10,000, in 9,999 ways drawn at
      random, the same in every call; 2 / level ways are drawn, up to a million, if that is more.
    - If some change, and of the others more than a lot in each round would leave, those are permuted, too, among
      themselves, and the two p-values are combined ("both").

    "effect": a p-value of at most `level`. "undecided": a larger one, and a state was left fewer than 10 times with a
    play or without, or no way of the lot has so small a p-value. "no effect": none was seen; small effects need much
    data. If actions were chosen by something else that was known of the arms, its effect is taken for one of plays.

    The fitted `arms` pay when played, show only played arms and start from the stationary law. For others call
    `restless(fitted.transition, fitted.reward, fitted.passive, observed=True, paid="all")`.

    Raises:
      ValueError: the argument and what is wrong with it: of `data` with the line of the file or the row of the arrays.
      OSError: the file cannot be read.

    Source: Anderson and Goodman 1957 (estimates and their errors); Fisher 1935 (the tests; not opened).

    >>> weeks = {
    ...     "who": ["Ann"] * 5 + ["Bob"] * 4,
    ...     "week": [1, 2, 3, 5, 6, 1, 2, 3, 4],
    ...     "state": ["ill", "well", "ill", "ill", "well", "well", "ill", "ill", "well"],
    ...     "visit": [1, 0, 0, 1, 0, 0, 1, 1, 0],
    ... }
    >>> names = {"arm": "who", "round": "week", "action": "visit"}
    >>> fitted = fit_restless(weeks, {"ill": 0, "well": 1}, columns=names, gaps="split")
    >>> fitted.labels, fitted.counts[0].tolist(), fitted.gaps
    (('Ann', 'Bob'), [[[0, 0], [1, 0]], [[0, 2], [0, 0]]], 1)
    """
    choice("gaps", gaps, get_args(Gaps))
    prior = number("prior", prior, 0)
    level = number("level", level, 0, 1, above=True, below=True)
    table, states = states_and_rewards(reward)
    labels, moves, number_of_gaps = restless_transitions(data, states, columns, gaps == "split")
    size = len(states) if isinstance(states, tuple) else states
    counts = np.zeros((len(labels), 2, size, size), int)
    for of_arm, each in zip(counts, moves):
        np.add.at(of_arm, tuple(each[:, 1:].T), 1)
    if table.ndim == 2 and len(table) != len(labels):
        raise ValueError(f"reward: {len(table)} rows for {len(labels)} arms")
    for action, plays in enumerate(("arms that are not played", "plays")):
        if not counts[:, action].any():
            raise ValueError(f"data: no transition has action {action}, so that nothing is known of {plays}")
    weights = counts + prior
    left = weights.sum(-1, keepdims=True)
    followed = weights.sum((1, 2))[:, None, None]
    shares = np.divide(weights, left, where=left > 0, out=np.broadcast_to(np.nan, weights.shape).copy())
    estimates = np.where(
        left > 0, shares, np.where(left[:, ::-1] > 0, shares[:, ::-1], followed / followed.sum(-1, keepdims=True))
    )
    check_rows(estimates, prior)
    for label, rows in zip(labels, estimates[:, 1]):
        check_recurrent(f"arm {label}: no play", rows, states)
    arms = restless(estimates[:, 1], table, estimates[:, 0])
    names = states if isinstance(states, tuple) else tuple(map(str, range(states)))
    rows = np.stack([np.asarray(arms.passive), np.asarray(arms.transition)], 1)
    effects = [effect_of_plays(each, size, level) for each in moves]
    p_values = np.array([effect.p_value for effect in effects])
    reasons = tuple(_reason(of_arm, names, effect, level) for of_arm, effect in zip(counts, effects))
    without = ["undecided" if reason else "no effect" for reason in reasons]
    return RestlessFit(
        arms=arms,
        labels=tuple(labels),
        states=names,
        counts=counts,
        transition=rows[:, 1],
        passive=rows[:, 0],
        standard_errors=np.sqrt(rows * (1 - rows) / np.where(left > 0, left, np.nan)),
        distance=np.abs(rows[:, 1] - rows[:, 0]).sum(-1).max(-1) / 2,
        p_values=p_values,
        permuted=tuple(effect.permuted for effect in effects),
        verdicts=np.where(p_values <= level, "effect", without),
        reasons=reasons,
        reward=np.asarray(arms.reward),
        gaps=number_of_gaps,
    )


def _reason(counts: np.ndarray, names: tuple[str, ...], effect: Effect, level: float) -> str:
    """Why the data of an arm are too few: the state that it left least often, with a play or without; or ""."""
    shown = counts.any((0, 2)) | counts.any((0, 1))
    left = np.where(shown, counts.sum(-1), LEAST)
    action, state = np.unravel_index(left.argmin(), left.shape)
    if left[action, state] >= LEAST:
        few = effect.attainable > level
        return f"no other outcome of the lot of the plays would reach the level {level:g}" if few else ""
    times = f"{left[action, state] or 'no'} {'transition' if left[action, state] == 1 else 'transitions'}"
    return f"{times} from state {names[state]} {'with' if action else 'without'} a play; {LEAST} are needed"
