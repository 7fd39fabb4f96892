"""What makes arms that one call of a constructor does not: of three states, of others that are given, that change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.environments import (
    ChangingArms,
    ChangingMarkovArms,
    HiddenArms,
    InitialState,
    MarkovArms,
    RestartingArms,
    RestlessArms,
    changing_markov,
    hidden,
    markov,
    piecewise,
    restarting,
    restless,
    rewards_table,
    two_state,
)


def three_state(
    p01: ArrayLike,
    p02: ArrayLike,
    p12: ArrayLike,
    p10: ArrayLike,
    p20: ArrayLike,
    p21: ArrayLike,
    *,
    initial_state: InitialState = 0,
) -> MarkovArms:
    """Arms with three states that pay 0, 1/2 and 1, from their probabilities [K] of moving between them."""
    moves = np.zeros((len(np.asarray(p01)), 3, 3))
    for (s, following), probabilities in zip(
        [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)], [p01, p02, p12, p10, p20, p21]
    ):
        moves[:, s, following] = probabilities
    stay = np.eye(3) * (1 - moves.sum(-1, keepdims=True))
    return markov(moves + stay, (0.0, 0.5, 1.0), initial_state=initial_state)


def slowed(make: Callable[..., MarkovArms], scale: ArrayLike, *, initial_state: InitialState = 0) -> MarkovArms:
    """Those with two states that are made, all probabilities of moving times `scale`, a number or one for each arm."""
    moves, scale = make().transition, np.asarray(scale)
    return two_state(scale * moves[:, 0, 1], scale * moves[:, 1, 0], initial_state=initial_state)


def independent(
    make: Callable[..., MarkovArms], which: Literal["all", "best", "others"] = "all", *, initial_state: InitialState = 0
) -> MarkovArms:
    """Those that are made; all, the best or the others have their stationary laws whatever state they are in."""
    arms = make()
    laws = np.stack([chains.stationary(rows) for rows in arms.transition])
    best = np.arange(len(laws)) == np.argmax(arms.means())
    chosen = {"all": best | True, "best": best, "others": ~best}[which]
    rows = np.where(chosen[:, None, None], laws[:, None], arms.transition)
    return markov(rows, arms.reward, initial_state=initial_state)


def restless_copy(make: Callable[..., MarkovArms], *, initial_state: InitialState = "stationary") -> RestlessArms:
    """Restless arms that move as those that are made do, played or not."""
    arms = make()
    return restless(arms.transition, arms.reward, initial_state=initial_state)


def in_episodes(make: Callable[..., MarkovArms], discount: float, *, initial_state: InitialState = 0) -> RestartingArms:
    """Those that are made, which all begin again after a round with probability 1 - discount."""
    return restarting(make(initial_state=initial_state), discount)


def with_errors(make: Callable[..., MarkovArms], error: float, *, initial_state: InitialState = 0) -> HiddenArms:
    """Hidden arms that move as those with two states that are made; a state shows the other's symbol by error."""
    arms = make()
    emission = np.broadcast_to([error, 1 - error], arms.reward.shape)
    return hidden(arms.transition, emission, initial_state=initial_state)


def cycles(*, initial_state: InitialState = "stationary") -> HiddenArms:
    """Arms that go round four states; the best shows 1 1 0 0 for ever, the others some of its ones."""
    ones = np.array([1.0, 0.84, 0.63, 0.47, 0.25])  # probability of 1 in each arm's first two states
    moves = np.broadcast_to(np.roll(np.eye(4), 1, axis=1), (len(ones), 4, 4))
    return hidden(moves, ones[:, None] * [1, 1, 0, 0], initial_state=initial_state)


def in_segments(levels: ArrayLike, starts: Sequence[int], rounds: int, *, horizon: int | None = None) -> ChangingArms:
    """Bernoulli arms with new levels from the rounds `starts` on in a game of `rounds` rounds, or of `horizon`."""
    horizon = rounds if horizon is None else horizon
    return piecewise([1 + (start - 1) * horizon // rounds for start in starts], levels, horizon)


def rotating(
    make: Callable[..., MarkovArms],
    segments: int,
    restless: bool = False,
    *,
    horizon: int = 100_000,
    initial_state: InitialState = 0,
) -> ChangingMarkovArms:
    """Arms that go round: in segment b of equal length arm k moves as arm (k + b) mod K of those that are made."""
    arms = make()
    moves = [np.roll(arms.transition, -b, axis=0) for b in range(segments)]
    breaks = [1 + b * horizon // segments for b in range(1, segments)]
    return changing_markov(breaks, moves, arms.reward, initial_state, restless=restless, horizon=horizon)


def adversarial_last_arm(arms: int, *, horizon: int = 10_000) -> ChangingArms:
    """A table in which the last arm pays 1 in all rounds but those that are its turn, and nothing else ever pays.

    An index that depends on sums and numbers of plays alone, with ties for the lowest arm, plays the arms in turn here,
    as they all look alike, and is never paid.
    """
    turns = np.zeros((horizon, arms))
    turns[:, -1] = np.arange(horizon) % arms != arms - 1
    return rewards_table(turns)
