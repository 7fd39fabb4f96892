"""Markov arms estimated from observations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains, divergences
from jaxbandit.arguments import finite, number
from jaxbandit.base import described
from jaxbandit.environments.markov_arms import MOST_STATES, InitialState, MarkovArms, markov
from jaxbandit.environments.sequences import Data, sequences


@described
class Fit(NamedTuple):
    """Estimated arms and how sure the estimates are; `print` shows a line for each arm.

    Fields:
      arms: the estimated arms, ready for `simulate`.
      counts: [K, S, S], transitions seen.
      transition: [K, S, S], their estimated laws.
      standard_errors: [K, S, S], of the transition.
      means: [K], long-run reward per play.
      means_standard_errors: [K], of the means.
      distance: [K], the largest total variation between two rows.
      threshold: [K], what the distance is compared with.
      markovian: [K] bool, distance > threshold.
      reward: [K, S], what each state pays.
    """

    arms: MarkovArms
    counts: np.ndarray
    transition: np.ndarray
    standard_errors: np.ndarray
    means: np.ndarray
    means_standard_errors: np.ndarray
    distance: np.ndarray
    threshold: np.ndarray
    markovian: np.ndarray
    reward: np.ndarray

    def __str__(self) -> str:
        lines = ["arm  transitions      mean  standard error  distance  threshold  verdict"]
        for arm, mean in enumerate(self.means):
            error, distance, threshold = self.means_standard_errors[arm], self.distance[arm], self.threshold[arm]
            verdict = "Markovian" if self.markovian[arm] else "i.i.d."
            lines.append(
                f"{arm:3d}  {self.counts[arm].sum():11,d}  {mean:8.4g}  {error:14.2g}  {distance:8.3f}  "
                f"{threshold:9.3f}  {verdict}"
            )
        return "\n".join(lines)


def fit(
    data: Data,
    reward: ArrayLike | None = None,
    *,
    prior: float = 0.0,
    exponent: float = 0.25,
    initial_state: InitialState = 0,
) -> Fit:
    """Markov arms from observed sequences: maximum likelihood, or the posterior mean under a Dirichlet prior.

    With N[k, s, s'] = `counts` + `prior` and n[k, s] = sum over s' of N[k, s, s'],
    `transition` p = N / n,
    `standard_errors` sqrt(p (1 - p) / n), so that a pseudo-count weighs as a transition seen,
    `means_standard_errors` the root of the sum over s of law_s^2 / n_s times the variance of h under row s, with the
    stationary law and the relative values h of `chains.relative_values`: the delta method,
    `markovian` distance > `divergences.threshold`(T, `exponent`), T the transitions seen of the arm: with prior 0
    the test of `TVKLUCB(clock="arm")`.
    Errors are asymptotic (after 2,000 transitions 94.5 to 95.1 % of the 95 % intervals held the truth), and 0 where a
    state was left in one direction only; then take a prior.

    Args:
      data: K sequences [steps], one an arm, at least 2 steps each; or the path of a CSV file (UTF-8) whose first line
        names the columns arm, step and state (or reward), in any order, beside others, which are ignored. Arms are 0
        to K-1; the steps of an arm go up by one from line to line, from any number on; no line is blank. The first
        step has no transition into it. Every step of an arm is one transition, so that observations of restless arms,
        which move between plays, cannot be used, and a missing step is refused.
      reward: [S] or [K, S], what each state pays; `data` are then states, 0 to S-1. None: `data` are rewards; their
        distinct values over all arms, sorted, are the states and what these pay. Where arms pay different values, give
        states and `reward`.
      prior: pseudo-count added to every transition of every arm. 0 is maximum likelihood, for which every arm must
        have left every state.
      exponent: of the test's threshold T^-exponent, positive; 1/4 in the paper.
      initial_state: of `arms`: every arm's state before its first play, an integer, [K] integers, or "stationary".

    How often the test is wrong, in percent, for an arm with p01 = p10 = (1 - d) / 2, whose rows are d apart (d = 0: an
    i.i.d. arm that is called Markovian; d > 0: a Markovian arm that is called i.i.d.):

        T      d = 0  d = 0.1  d = 0.3  d = 0.5  d = 0.8
        30      1.91    97.56    83.52    44.99     6.29
        100     0.16    98.86    61.08     3.14     0.02
        300     0.00    99.45    16.29     0.00     0.00
        1000    0.00    99.40     0.00     0.00     0.00

    exact, by counting paths. An arm is found when T is well beyond d^-4, 10,000 for d = 0.1: "i.i.d." says little about
    small distances. How often an i.i.d. arm with S equally likely states is called Markovian, in percent, measured:

        T      S = 3  S = 5  S = 10
        100        5     83     100
        300        0     34     100
        1000       0      2     100
        3000       0      0      84

    "Markovian" says little about many states. `pytest tests/test_fitting.py` simulates both tables.

    Raises:
      ValueError: the argument and what is wrong with it: of `data` with the arm and the step, or the line of the file.
      OSError: the file cannot be read.

    Source: Anderson and Goodman 1957 (estimates and their errors); the paper's algorithms 1 and 2 (test).

    >>> from jaxbandit.environments import EXAMPLE
    >>> print(fit(EXAMPLE))
    arm  transitions      mean  standard error  distance  threshold  verdict
      0          499    0.4829           0.022     0.031      0.212  i.i.d.
      1          499    0.3565           0.065     0.805      0.212  Markovian
      2          499     0.523          0.0098     0.679      0.212  Markovian
      3          499    0.2766           0.021     0.028      0.212  i.i.d.
    """
    prior = number("prior", prior, 0)
    exponent = number("exponent", exponent, 0, above=True)
    if reward is None:
        states, table = _states_of_rewards(sequences(data))
    else:
        table = finite("reward", reward)
        if table.ndim not in (1, 2) or not 2 <= table.shape[-1] <= MOST_STATES:
            raise ValueError(f"reward: shape {table.shape} is not [S] or [K, S] with S from 2 to {MOST_STATES}")
        states = sequences(data, table.shape[-1])
        if table.ndim == 2 and len(table) != len(states):
            raise ValueError(f"reward: {len(table)} rows for {len(states)} arms")
    counts = np.stack([_transitions(arm, table.shape[-1]) for arm in states])
    weights = counts + prior
    left = weights.sum(-1)
    if (left == 0).any():
        arm, state = np.argwhere(left == 0)[0]
        pays = np.broadcast_to(table, left.shape)[arm, state]
        raise ValueError(f"data: arm {arm} never left state {state}, which pays {pays:g}: give a `prior` above 0")
    estimates = weights / left[..., None]
    if (estimates[estimates > 0] < chains.RAREST).any():
        raise ValueError(f"prior: {prior} makes a transition rarer than 2^-31, too rare to be drawn; give a larger one")
    arms = markov(estimates, table, initial_state=initial_state)
    transition = np.asarray(arms.transition)
    # All pairs at once, on the host: `divergences.farthest` is a program that would be compiled for this one call.
    pairs = divergences.total_variation(transition[:, :, None], transition[:, None])
    distance = np.asarray(pairs, float).max((1, 2))
    threshold = np.asarray(divergences.threshold(counts.sum((1, 2)).astype(float), exponent), float)
    return Fit(
        arms=arms,
        counts=counts,
        transition=transition,
        standard_errors=np.sqrt(transition * (1 - transition) / left[..., None]),
        means=arms.means(),
        means_standard_errors=np.array([_mean_error(*arm) for arm in zip(transition, np.asarray(arms.reward), left)]),
        distance=distance,
        threshold=threshold,
        markovian=distance > threshold,
        reward=np.asarray(arms.reward),
    )


def _states_of_rewards(rewards: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """The states [steps] of each arm, and what they pay, [S]."""
    values, states = np.unique(np.concatenate(rewards), return_inverse=True)
    if not 2 <= len(values) <= MOST_STATES:
        raise ValueError(f"data: {len(values)} distinct rewards, each a state; 2 to {MOST_STATES} are supported")
    return np.split(states, np.cumsum([len(arm) for arm in rewards])[:-1]), values


def _transitions(arm: np.ndarray, states: int) -> np.ndarray:
    """Counts [S, S] of the transitions in one sequence."""
    return np.bincount(arm[:-1] * states + arm[1:], minlength=states * states).reshape(states, states)


def _mean_error(transition: np.ndarray, reward: np.ndarray, left: np.ndarray) -> float:
    """Standard error of one arm's mean, from its rows [S, S] estimated from `left` [S] transitions each."""
    values = chains.relative_values(transition, reward)
    expected = transition @ values
    variances = np.sum(transition * (values - expected[:, None]) ** 2, axis=-1)
    return float(np.sqrt(np.sum(chains.stationary(transition) ** 2 * variances / left)))
