"""Tests whether plays change how a restless arm moves: its moves beside those under other outcomes of the lot."""

from __future__ import annotations

from itertools import combinations
from math import ceil, comb, prod
from typing import NamedTuple

import numpy as np

from jaxbandit.environments.rested.independence import LEAST, SMALLEST, law_of_sum

MOST_WAYS = 10_000  # to distribute plays among sequences: up to so many all are looked at, of more so many are drawn
MOST_DRAWS, MOST_NUMBERS = 1_000_000, 2**22  # in a test, and numbers drawn at a time
ROUNDING = 1e-9  # standard deviations by which equal sums may differ


class Effect(NamedTuple):
    """The result of the test of one arm."""

    p_value: float = np.nan  # NaN where there was nothing to test
    permuted: str = ""  # "rounds", "sequences", "both", or "" where there was nothing to test
    attainable: float = np.inf  # the smallest p-value of any outcome of the lot


def effect_of_plays(moves: np.ndarray, states: int, level: float) -> Effect:
    """Whether plays change the next state, by the moves of an arm in their order, [N, 4] whole numbers from 0.

    The columns are sequence, action, state and next state. If no action changes within a sequence, a lot was drawn for
    each sequence; else one in each round. Then sequences without a change are compared with one another only if the
    second lot, with a probability for each state, would hardly leave as many of them: its p-value is at most a tenth of
    the level. Their p-value and that of the rounds are independent, and are combined by Fisher's method.

    >>> weeks = np.arange(200)
    >>> moves = np.stack([weeks // 10, weeks // 10 % 2, weeks % 2, weeks // 10 % 2], axis=1)
    >>> effect_of_plays(moves, 2, 0.01).permuted
    'sequences'
    """
    who, action = np.unique(moves[:, 0], return_inverse=True)[1], moves[:, 1]
    rounds, plays = np.bincount(who), np.bincount(who, action)
    changes, single = (plays > 0) & (plays < rounds), rounds == 1
    apart = ~changes & ~single
    if apart.any():
        apart = ~changes if not changes.any() else apart & (_by_chance(who, moves, apart) <= level / 10)
    joined = np.where(single[who] & ~apart[who], len(rounds), who)  # single moves are rounds of one sequence
    moves = np.column_stack([joined, moves[:, 1:]])
    effects = [_of_rounds(moves[~apart[who]], states), _of_sequences(moves[apart[who]], level)]
    telling = [effect for effect in effects if effect.attainable <= level]
    if len(telling) < 2:
        return min(telling or effects, key=lambda effect: effect.attainable)
    both = effects[0].p_value * effects[1].p_value
    return Effect(max(both * (1 - np.log(both)), SMALLEST), "both", level)


def _by_chance(who: np.ndarray, moves: np.ndarray, constant: np.ndarray) -> float:
    """A bound on the probability that a lot in each round leaves as many sequences `constant` (Chernoff's)."""
    action, state = moves[:, 1], moves[:, 2]
    shares = np.bincount(state, action) / np.maximum(np.bincount(state), 1)
    with np.errstate(divide="ignore"):
        chances = [np.exp(np.bincount(who, np.log(each)[state])) for each in (shares, 1 - shares)]
    seen, expected = constant.sum(), max(np.sum(chances, 0)[np.bincount(who) > 1].sum(), np.finfo(float).tiny)
    return float(np.exp(seen - expected - seen * np.log(seen / expected))) if seen > expected else 1.0


def _of_rounds(moves: np.ndarray, states: int) -> Effect:
    """Of lots drawn in each round, with a probability for each sequence and state.

    Of the rounds of a sequence in a state, as many are drawn as lead to the next state t: the number of plays among
    them has a hypergeometric law, and the sum over sequences the convolution of theirs. The p-value is twice the
    smallest tail, times the number of states, or of their pairs: with two states, the count of one target tells that of
    the other.
    """
    targets = range(states) if states > 2 else [1]
    smallest, attainable = np.nan, np.inf
    for state in np.unique(moves[:, 2]):
        who, action, _, following = moves[moves[:, 2] == state].T
        if min(action.sum(), (1 - action).sum()) < LEAST:
            continue
        who = np.unique(who, return_inverse=True)[1]
        for target in targets:
            led = following == target
            lowest, law = law_of_sum(*(np.bincount(who, part).astype(int) for part in (np.ones(len(who)), action, led)))
            place = int((action * led).sum()) - lowest
            tail = min(law[: place + 1].sum(), law[place:].sum()) if 0 <= place < len(law) else 0.0
            smallest, attainable = np.fmin(smallest, tail), min(attainable, law[0], law[-1])
    if np.isnan(smallest):
        return Effect()
    number = 2 * states * len(targets)
    return Effect(float(np.clip(number * smallest, SMALLEST, 1)), "rounds", number * attainable)


def _of_sequences(moves: np.ndarray, level: float) -> Effect:
    """Of a lot drawn for each sequence, as often as seen among those that began in the same state.

    Looked at are the moves from s to t of played sequences beyond the share of such moves in all of them, in standard
    deviations of their law under the lot: the largest size of all s and t.
    """
    if not len(moves):
        return Effect()
    first, who = np.unique(moves[:, 0], return_index=True, return_inverse=True)[1:]
    played, began = moves[first, 1], moves[first, 2]
    columns = []
    for state in np.unique(moves[:, 2]):
        here = moves[:, 2] == state
        for target in np.unique(moves[here, 3]) if here.sum() >= 2 * LEAST else ():
            led = moves[here, 3] == target
            columns.append(np.bincount(who[here], led - led.mean(), len(first)))
    beyond = np.array(columns, float).reshape(-1, len(first)).T.copy()
    groups, variance = [np.flatnonzero(began == state) for state in np.unique(began)], np.zeros(len(columns))
    for group in groups:
        beyond[group] -= beyond[group].mean(0)
        pairs, size = played[group].sum() * (1 - played[group]).sum(), len(group)
        variance += pairs * (beyond[group] ** 2).sum(0) / max(size * (size - 1), 1)
    varies = variance > ROUNDING**2
    if not varies.any():
        return Effect()
    beyond = beyond[:, varies] / np.sqrt(variance[varies])
    seen = played @ beyond
    if prod(comb(len(group), int(played[group].sum())) for group in groups) <= MOST_WAYS:
        sums = np.zeros((1, len(seen)))
        for group in groups:
            chosen = np.array(list(combinations(group, int(played[group].sum()))), int)
            sums = (sums[:, None] + beyond[chosen].sum(1)).reshape(-1, len(seen))
    else:
        sums = np.vstack([seen, _drawn(played, beyond, groups, min(max(MOST_WAYS, ceil(2 / level)), MOST_DRAWS) - 1)])
    sizes = np.abs(sums).max(1)
    p_value, attainable = (np.mean(sizes >= size - ROUNDING) for size in (np.abs(seen).max(), sizes.max()))
    return Effect(float(p_value), "sequences", float(attainable))


def _drawn(played: np.ndarray, beyond: np.ndarray, groups: list[np.ndarray], draws: int) -> np.ndarray:
    """Sums [draws, ..] over the played sequences, drawn anew within each group; the same ones in every call."""
    lot, sums = np.random.default_rng(0), np.zeros((draws, beyond.shape[1]))
    for group in groups:
        for part in np.array_split(np.arange(draws), ceil(draws * len(group) / MOST_NUMBERS)):
            sums[part] += lot.permuted(np.tile(played[group], (len(part), 1)), axis=1) @ beyond[group]
    return sums
