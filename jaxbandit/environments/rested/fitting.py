"""Markov arms estimated from observations."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import choice, finite, number
from jaxbandit.base import described
from jaxbandit.environments.rested.columns import States, text_of_fit
from jaxbandit.environments.rested.gap_fitting import over_gaps
from jaxbandit.environments.rested.independence import judge, transitions
from jaxbandit.environments.rested.markov_arms import MOST_STATES, InitialState, MarkovArms, markov_of, recurrent
from jaxbandit.environments.rested.sequence_files import GAPS, Missing
from jaxbandit.environments.rested.sequences import Data, Observed, observed


@described
class Fit(NamedTuple):
    """Estimated arms and the errors of the estimates; `print` shows a line for each arm.

    Fields:
      arms: the estimated arms, ready for `simulate`.
      labels: K texts, the arms' names in `data`, in the order of `arms`.
      counts: [K, S, S], transitions seen; with gaps="steps" from each state seen to the next one seen.
      transition: [K, S, S], the estimated transition matrices.
      standard_errors: [K, S, S], of the transition; NaN for a row without a transition; with gaps="steps" also at 0
        and 1, and where gaps leave a row undecided.
      means: [K], long-run reward per play.
      means_standard_errors: [K], of the means.
      averages: [K], reward per step in `data`, whatever the prior.
      distance: [K], the largest total variation between two rows.
      p_values: [K], of the test of independence; NaN where nothing could be tested.
      verdicts: [K] texts, "Markovian", "i.i.d." or "undecided".
      reasons: K texts, the reason why an arm is undecided; empty for the others.
      reward: [K, S], reward of each state.
      gaps: the number of places where steps of a sequence are missing.
      over_gaps: whether powers of the rows lead over them; else sequences were split there.
    """

    arms: MarkovArms
    labels: tuple[str, ...]
    counts: np.ndarray
    transition: np.ndarray
    standard_errors: np.ndarray
    means: np.ndarray
    means_standard_errors: np.ndarray
    averages: np.ndarray
    distance: np.ndarray
    p_values: np.ndarray
    verdicts: np.ndarray
    reasons: tuple[str, ...]
    reward: np.ndarray
    gaps: int
    over_gaps: bool

    def __str__(self) -> str:
        width = max(len(label) for label in ("arm", *self.labels))
        lines = [f"{'arm':{width}s}  transitions      mean  standard error  distance   p-value  verdict"]
        for arm, label in enumerate(self.labels):
            reason = f": {self.reasons[arm]}" if self.reasons[arm] else ""
            lines.append(
                f"{label:>{width}s}  {self.counts[arm].sum():11,d}  {self.means[arm]:8.4g}  "
                f"{self.means_standard_errors[arm]:14.2g}  {self.distance[arm]:8.3f}  {self.p_values[arm]:8.2g}  "
                f"{self.verdicts[arm]}{reason}"
            )
        if "undecided" in self.verdicts or "Markovian" not in self.verdicts:
            pays_0_or_1 = self.reward.shape[1] == 2 and (self.reward == (0, 1)).all()
            call = "bernoulli(fitted.averages)" if pays_0_or_1 else "markov with equal rows"
            lines.append(f"For arms that are i.i.d. or undecided, environments.{call} makes independent arms.")
        if self.gaps and self.over_gaps:
            lines.append(f"{self.gaps:,d} {'gap' if self.gaps == 1 else 'gaps'}, over which powers of the rows lead.")
        return text_of_fit(lines, 0 if self.over_gaps else self.gaps, width)


def fit(
    data: Data,
    reward: ArrayLike | Mapping[str, float] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    gaps: Missing = "error",
    prior: float = 0.0,
    level: float = 0.01,
    initial_state: InitialState = 0,
) -> Fit:
    """Markov arms from observed sequences: maximum likelihood, or the posterior mean under a Dirichlet prior.

    With N[k, s, s'] = `counts` + `prior` and n[k, s] = sum over s' of N[k, s, s'],
    `transition` p = N / n,
    `standard_errors` sqrt(p (1 - p) / n), so that a pseudo-count weighs as a transition seen,
    `means_standard_errors` the root of the sum over s of law_s^2 / n_s times the variance of h under row s, with the
    stationary law and the relative values h of `chains.relative_values`: the delta method.
    Errors are asymptotic (after 2,000 transitions 94.5 to 95.1 % of the 95 % intervals covered the truth), and 0 where
    a state was left in one direction only. A row without transitions (n = 0) gets the frequencies of all states that
    follow another one in the arm's sequences, the estimate for independent steps.

    With gaps="steps" the rows P maximise the product of (P^g)[s, s'] over all states s seen, with s' the next one seen,
    g steps later; errors come from the observed information. If all g are even, p01 and p10 are as likely as c p01 and
    c p10 with c (p01 + p10) = 2 - p01 - p10: the rows that stay more often are taken, as states are mostly looked at
    while they last, and a warning says so.

    Args:
      data: the K arms' sequences: in a list, or in a dictionary with the arms' labels. Each arm is one sequence
        [steps], or several in a list, with at least one transition in all. Or a table: the path of a text file (UTF-8)
        in whose lines commas, tabs or semicolons separate columns, a DataFrame, or, with `columns`, a dictionary of
        arrays. The first line names the columns; arm, step (or round) and state (or reward) are read, and sequence if
        there is one, in any order. No line is blank. Labels of arms and sequences may be any text; arms are sorted by
        them, as numbers if all of them are. Steps count an arm's own plays, up by one in each sequence. Rounds count
        the plays of all arms together and increase: a rested arm keeps its state while others are played. A round
        that no line has was lost; if no arm was played in it, a line with an empty arm says so. Restless arms are for
        `fit_restless`.
      reward: [S] or [K, S], reward of each state; `data` are then states, 0 to S-1. Or a dictionary from the names that
        states have in `data` to their rewards. None: `data` are rewards; their distinct values over all arms, sorted,
        are the states and their rewards. Where the values of the arms differ, give states and `reward`.
      columns: the table's names of the columns arm, step, round, sequence, state or reward, where they differ:
        {"arm": "choice", "round": "trial", "sequence": "subject", "reward": "outcome"}.
      gaps: what steps are that a table leaves out, or that are None, NaN or an empty field: "error"; "split", which
        leaves out the transitions over them; or "steps", in which the arm moved unseen.
      prior: pseudo-count added to every transition of every arm. A state that was rarely left then has a row
        close to the prior's: with prior 0.5 and two states, rare clicks come in pairs, and their frequency doubles.
      level: of the test of independence of each arm, in (0, 1): at most this share of i.i.d. arms is called
        Markovian.
      initial_state: of `arms`: every arm's state before its first play, an integer, [K] integers,
        "stationary", or a law [K, S].

    The verdict on an arm comes from an exact test, whatever the `prior`. Given the first state of each sequence and the
    counts of the later ones, all orders are equally likely if steps are independent, also where sequences have
    different laws. "Markovian": the transition counts lie in a tail that has at most the probability `level` for i.i.d.
    arms. "undecided": they do not, and a state was left fewer than 10 times, or the sequences are too short for any
    order to show a dependence. "i.i.d.": no dependence was seen. Error rates in percent, of i.i.d. arms (d = 0), and of
    arms with p01 = p10 = (1 - d) / 2, whose rows have the distance d (d > 0):

        T      d = 0  d = 0.1  d = 0.3  d = 0.5  d = 0.8
        30      0.45    99.24    93.41    72.51    53.03
        100     0.52    96.23    41.10     0.96     0.29
        300     0.65    84.35     0.56     0.00     0.00
        1000    0.81    30.10     0.00     0.00     0.00

    computed from all paths of T transitions. A dependence is detected when T is well above 10 / d^2: "i.i.d." says
    little about smaller distances. With S > 2 states every pair of states is tested, and the level is divided among S^2
    tests: false alarms stay as rare, but a weak dependence over many pairs is detected late.

    Raises:
      ValueError: the argument and what is wrong with it: of `data` with the arm and the step, or the line of the file,
        or the row of the arrays.
      OSError: the file cannot be read.

    Source: Anderson and Goodman 1957 (estimates and their errors); Wald and Wolfowitz 1940 (the test for two states).

    >>> from jaxbandit.environments import EXAMPLE
    >>> print(fit(EXAMPLE))
    arm  transitions      mean  standard error  distance   p-value  verdict
      0          499    0.4829           0.022     0.031      0.54  i.i.d.
      1          499    0.3565           0.065     0.805     1e-20  Markovian
      2          499     0.523          0.0098     0.679     1e-20  Markovian
      3          499    0.2766           0.021     0.028      0.55  i.i.d.
    """
    prior = number("prior", prior, 0)
    level = number("level", level, 0, 1, above=True, below=True)
    choice("gaps", gaps, GAPS)
    seen, over, table, names = observed_with_rewards(data, reward, columns, gaps)
    states = [[sequence[sequence >= 0] for sequence in arm] for arm in over]
    counts = np.stack([sum(transitions(sequence, table.shape[-1]) for sequence in arm) for arm in states])
    weights = counts + prior
    left = weights.sum(-1, keepdims=True)
    followed = weights.sum(1, keepdims=True)
    estimates = np.where(left > 0, weights, followed) / np.where(left > 0, left, followed.sum(-1, keepdims=True))
    pays = np.broadcast_to(table, (len(counts), table.shape[-1]))
    unseen = {
        k: over_gaps(seen.labels[k], [sequence[np.argmax(sequence >= 0) :] for sequence in arm], pays[k], prior)
        for k, arm in enumerate(over)
        if any((sequence[np.argmax(sequence >= 0) :] < 0).any() for sequence in arm)
    }
    for k, (rows, _, _) in unseen.items():
        estimates[k] = rows
    check_rows(estimates, prior)
    for label, rows in zip(seen.labels, estimates):
        check_recurrent(f"arm {label}: no transition", rows, names)
    arms = markov_of(recurrent(estimates, least=1), table, initial_state)
    transition = np.asarray(arms.transition)
    verdicts = [judge(*arm) for arm in zip(states, itertools.repeat(level), np.asarray(arms.reward))]
    known = np.where(left > 0, left, np.nan)
    errors = np.sqrt(transition * (1 - transition) / known)
    mean_errors = np.array([mean_error(*arm) for arm in zip(transition, np.asarray(arms.reward), known[..., 0])])
    for k, (_, *both) in unseen.items():
        errors[k], mean_errors[k] = both
    return Fit(
        arms=arms,
        labels=seen.labels,
        counts=counts,
        transition=transition,
        standard_errors=errors,
        means=arms.means(),
        means_standard_errors=mean_errors,
        averages=np.array([row[np.concatenate(arm)].mean() for row, arm in zip(np.asarray(arms.reward), states)]),
        distance=np.abs(transition[:, :, None] - transition[:, None]).sum(-1).max((1, 2)) / 2,
        p_values=np.array([verdict.p_value for verdict in verdicts]),
        verdicts=np.array([verdict.word for verdict in verdicts]),
        reasons=tuple(verdict.reason for verdict in verdicts),
        reward=np.asarray(arms.reward),
        gaps=seen.gaps,
        over_gaps=gaps == "steps",
    )


def observed_with_rewards(
    data: Data, reward: ArrayLike | Mapping[str, float] | None, columns: Mapping[str, str] | None, gaps: Missing
) -> tuple[Observed, list[list[np.ndarray]], np.ndarray, States]:
    """What arms showed, the states [steps] of each of their sequences (-1: not seen), the states' rewards and names."""
    if reward is None:
        seen = observed(data, None, columns, gaps)
        states, table = _states_of_rewards(seen.sequences)
        return seen, states, table, len(table)
    table, names = states_and_rewards(reward)
    seen = observed(data, names, columns, gaps)
    if table.ndim == 2 and len(table) != len(seen.sequences):
        raise ValueError(f"reward: {len(table)} rows for {len(seen.sequences)} arms")
    return seen, seen.sequences, table, names


def states_and_rewards(reward: ArrayLike | Mapping[str, float]) -> tuple[np.ndarray, States]:
    """The rewards of the states, [S] or [K, S], and the names of the states in a table, or their number."""
    named = isinstance(reward, Mapping)
    table = finite("reward", list(reward.values()) if isinstance(reward, Mapping) else reward)
    if table.ndim not in ((1,) if named else (1, 2)) or not 2 <= table.shape[-1] <= MOST_STATES:
        shapes = "one number for each state" if named else "[S] or [K, S]"
        raise ValueError(f"reward: shape {table.shape} is not {shapes} with S from 2 to {MOST_STATES}")
    return table, tuple(map(str, reward)) if isinstance(reward, Mapping) else table.shape[-1]


def check_rows(estimates: np.ndarray, prior: float) -> None:
    """Raise ValueError unless all transitions [.., S] can be drawn."""
    if (estimates[estimates > 0] < chains.RAREST).any():
        raise ValueError(f"prior: {prior} makes a transition rarer than 2^-31, too rare to be drawn; give a larger one")


def check_recurrent(what: str, rows: np.ndarray, names: States) -> None:
    """Raise ValueError unless one arm's rows [S, S] have a single recurrent class; `what` leaves none of several."""
    named = names if isinstance(names, tuple) else range(names)
    classes = [[named[state] for state in states] for states in chains.recurrent_classes(rows)]
    if len(classes) > 1:
        raise ValueError(
            f"data: {what} leaves states {classes[0]}, and none leaves states {classes[1]}, so that it has no long-run "
            "mean; leave out the sequences of either, or give a `prior` above 0"
        )


def _states_of_rewards(arms: list[list[np.ndarray]]) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """The states [steps] of each sequence of each arm, and the rewards of the states, [S]."""
    values = np.unique(np.concatenate([sequence[np.isfinite(sequence)] for arm in arms for sequence in arm]))
    if len(values) < 2:
        raise ValueError(f"data: every step of every arm pays {values[0]:g}, and every arm is optimal")
    if len(values) > MOST_STATES:
        raise ValueError(
            f"data: {len(values)} distinct rewards, each of which would be a state; at most {MOST_STATES} are "
            "supported. Put them into a few bins, as `numpy.digitize` does, and give these as states, with the "
            "average of each as `reward`; or, if rewards are independent, play arms with a law of real numbers, as "
            "`environments.gaussian`"
        )
    places = [[np.where(np.isnan(rewards), -1, np.searchsorted(values, rewards)) for rewards in arm] for arm in arms]
    return places, values


def mean_error(transition: np.ndarray, reward: np.ndarray, left: np.ndarray) -> float:
    """Standard error of one arm's mean, from its rows [S, S] estimated from `left` [S] transitions each."""
    values = chains.relative_values(transition, reward)
    expected = transition @ values
    variances = np.sum(transition * (values - expected[:, None]) ** 2, axis=-1)
    law = chains.stationary(transition)
    shares = np.divide(law**2 * variances, left, where=law > 0, out=np.zeros_like(law))  # NaN only where it matters
    return float(np.sqrt(shares.sum()))
