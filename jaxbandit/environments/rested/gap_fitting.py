"""Visible chains seen in some steps only: powers of the rows lead from one state that was seen to the next."""

from __future__ import annotations

import warnings

import numpy as np

from jaxbandit import chains
from jaxbandit.environments.rested.hidden_errors import delta, within_rows

ROUNDS, STILL = 20_000, 1e-13  # of expectation maximisation, and the gain in nats a move that ends it
NONE = 0.01  # expected moves, of which there are none
ALIKE, FAR = 2.0, 4.0  # nats by which other rows are less likely and still good; standard errors that lie between


Estimates = tuple[np.ndarray, np.ndarray, float]  # rows [S, S]; errors, NaN at 0, 1 and if undetermined; of the mean


def over_gaps(label: str, sequences: list[np.ndarray], reward: np.ndarray, prior: float) -> Estimates:
    """The rows [S, S] with the largest likelihood, of sequences [steps] with -1 where nothing was seen.

    The likelihood is the product over g of (P^g)[s, s'] for each state s that is followed, g steps later, by s', with
    `prior` times log P[s, s'] added to its logarithm for all s, s'. Expectation maximisation starts from rows that
    stay and from rows that move; where both maxima are as high, the one that is reached from rows that stay is taken,
    and a warning says so. With two states and even g only, P = L + d (I - L) and L - d (I - L) are as likely,
    with L the stationary law in both rows.
    """
    states = len(reward)
    counts = _counted(sequences, states)
    shown = np.unique(np.concatenate(sequences))
    usual = np.bincount(np.concatenate([each[1:][each[1:] >= 0] for each in sequences]), minlength=states) + prior
    usual = usual / usual.sum()
    possible = np.isin(np.arange(states), shown) | (prior > 0)
    left = counts.sum(axis=(0, 2)) > 0 if not prior else np.ones(states, bool)
    maxima = []
    for stays in (0.8, 0.1):
        start = np.where(np.eye(states), stays, (1 - stays) / states) * possible
        start /= start.sum(axis=1, keepdims=True)
        maxima.append(_maximum(np.where(left[:, None], start, usual), counts, prior))
    highest = max(likelihood for _, likelihood, _ in maxima)
    best, _, expected = next(each for each in maxima if each[1] > highest - 1e-5)
    never = expected.sum(axis=1, keepdims=True) < NONE  # left: such rows stay as they were, and undetermined
    own = (expected >= NONE) | (prior > 0) | (never & (best > 0))
    rows = np.where(own, best, 0)
    rows /= rows.sum(axis=1, keepdims=True)
    deviations = _errors(rows, own, counts, prior, reward)
    errors = np.where(own & (rows < 1), deviations[:-1].reshape(rows.shape), np.nan)
    for other, likelihood, _ in maxima:
        if likelihood > highest - ALIKE and (np.abs(other - rows) > FAR * errors).any():
            warnings.warn(
                f"data: the gaps of arm {label} leave its rows undecided: {other.round(3).tolist()} are as likely as "
                "those taken, or nearly so. States seen in successive steps would decide",
                stacklevel=4,
            )
    return rows, errors, float(deviations[-1])


def _counted(sequences: list[np.ndarray], states: int) -> np.ndarray:
    """[g, S, S], how often a state that was seen was followed by another one, the next one seen, after 1 to g steps."""
    pairs = []
    for sequence in sequences:
        seen = np.flatnonzero(sequence >= 0)
        pairs.append(np.stack([np.diff(seen), sequence[seen[:-1]], sequence[seen[1:]]]))
    together = np.concatenate(pairs, axis=1)
    counts = np.zeros((together[0].max(), states, states))
    np.add.at(counts, (together[0] - 1, together[1], together[2]), 1)
    return counts


def _maximum(rows: np.ndarray, counts: np.ndarray, prior: float) -> tuple[np.ndarray, float, np.ndarray]:
    """Rows after expectation maximisation, their log-likelihood, and the transitions to be expected."""
    before = -np.inf
    for _ in range(ROUNDS):
        likelihood, expected = _expected(rows, counts, prior)
        if likelihood - before <= STILL * counts.sum():
            break
        sums = expected.sum(axis=1, keepdims=True)
        rows, before = np.where(sums > 0, expected / np.where(sums > 0, sums, 1), rows), likelihood
    return rows, likelihood, expected


def _expected(rows: np.ndarray, counts: np.ndarray, prior: float) -> tuple[float, np.ndarray]:
    """The log-likelihood of rows, and the transitions to be expected, of states [g, S, S] seen 1 to g steps apart.

    The derivative of the sum of counts log(P^g) by P is the sum over g and k < g of (P^k)' W_g (P^(g-1-k))', with W_g
    the counts over P^g; times P it is the expected number of transitions.
    """
    powers = [rows]
    for _ in range(len(counts) - 1):
        powers.append(powers[-1] @ rows)
    chances = np.stack(powers)
    shares = np.divide(counts, chances, where=counts > 0, out=np.zeros_like(counts))
    likelihood = np.sum(counts * np.log(np.where(counts > 0, chances, 1)))
    after, slope, turned = np.zeros_like(rows), np.zeros_like(rows), rows.T
    for share in shares[::-1]:
        after = share + after @ turned
        slope = after + turned @ slope
    penalty = prior * np.sum(np.log(rows)) if prior else 0.0
    return float(likelihood + penalty), rows * slope + prior


def _errors(rows: np.ndarray, own: np.ndarray, counts: np.ndarray, prior: float, reward: np.ndarray) -> np.ndarray:
    """The standard errors [S^2 + 1] of the rows and of the mean, by differences in the logarithms of the rows."""
    step = 1e-5

    def slope(exponents: np.ndarray) -> np.ndarray:
        moved = rows * np.exp(exponents.reshape(rows.shape))
        moved = moved / moved.sum(axis=1, keepdims=True)
        expected = _expected(moved, counts, prior)[1]
        return (expected - expected.sum(axis=1, keepdims=True) * moved).ravel()

    curvature = np.stack([(slope(unit) - slope(-unit)) / (2 * step) for unit in np.eye(rows.size) * step])
    of_row = np.repeat(np.arange(len(rows)), len(rows))
    by_z = np.diag(rows.ravel()) - (of_row[:, None] == of_row) * np.outer(rows, rows)
    mean = np.full(rows.size, np.nan)
    if len(chains.recurrent_classes(rows)) == 1:  # else an error follows
        mean = (chains.stationary(rows)[:, None] * chains.relative_values(rows, reward)).ravel() @ by_z
    return np.sqrt(delta(curvature, within_rows(of_row, own.ravel()), np.vstack([by_z, mean])))
