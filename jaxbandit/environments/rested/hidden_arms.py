"""Hidden Markov arms: chains that show a symbol in place of their states; and what is known of estimated ones."""

from __future__ import annotations

from dataclasses import field, replace
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import finite
from jaxbandit.base import Declares, Feedback, described, pytree
from jaxbandit.environments.rested.markov_arms import (
    MOST_STATES,
    InitialState,
    MarkovArms,
    MarkovState,
    initial_law,
    initial_thresholds,
    markov_of,
    recurrent,
    rewards_of,
)
from jaxbandit.known_arms import KnownArms
from jaxbandit.probabilities import stochastic


@pytree
class HiddenArms:
    """Hidden Markov arms: playing arm k in state s moves it to a hidden state s' ~ transition[k, s, .], shows the
    symbol o ~ emission[k, s', .] and pays reward[k, o].

    The arms are rested. They are `MarkovArms` on pairs of a state and a symbol, s G + o with G symbols, and show the
    symbol only; a play takes one draw. Symbols take the place of states in the feedback (`Feedback.before` is the
    symbol shown before; the first one is drawn with the first state), so that policies can play these arms, except RCA
    and the policies that know rested or restless chains.

    Symbols do not form a Markov chain, so a policy that estimates their transitions violates its assumptions; but the
    matrix of their long-run transition frequencies, `symbol_transition`, has exactly the arm's mean.

    Build it with `hidden`, which checks its arguments.

    Fields are NumPy float64 on the host: `transition` [K, S, S], `emission` [K, S, G], `reward` [K, G], and the
    `pairs` with G S states.
    """

    declares: ClassVar = Declares(problem="hidden")

    transition: np.ndarray | Array
    emission: np.ndarray | Array
    reward: np.ndarray | Array
    pairs: MarkovArms = field(repr=False)

    def means(self) -> np.ndarray:
        """Long-run reward per play of each arm, [K] float64 on the host.

        >>> hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.7], [0.1, 0.3]]).means().round(4).tolist()
        [0.3667, 0.1667]
        """
        return self.pairs.means()

    def known(self) -> KnownArms:
        """The laws and rewards that a planner needs, with the law of the symbols."""
        first = np.asarray(self.pairs.initial).reshape(self.emission.shape).sum(-1)
        wait = np.eye(first.shape[1])
        return KnownArms.of(self.transition, wait, self.reward, first, emission=self.emission)

    def symbol_transition(self) -> np.ndarray:
        """How often each symbol follows each other one in the long run, [K, G, G] float64 on the host.

        [k, o, o'] is the sum over s of law_s emission_so (transition emission)_so' over that of law_s emission_so, law
        the arm's stationary law: the limit of the estimates of a policy that treats symbols as states. NaN after a
        symbol that is never shown. With rewards 0 and 1, p01 / (p01 + p10) is the arm's mean.

        >>> hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.7], [0.1, 0.3]]).symbol_transition()[0].round(4).tolist()
        [[0.6947, 0.3053], [0.5273, 0.4727]]
        """
        laws = np.stack([chains.stationary(rows) for rows in np.asarray(self.transition)])
        occupation = laws[..., None] * self.emission  # [K, S, G]
        following = np.einsum("kso,kst,ktp->kop", occupation, self.transition, self.emission)
        with np.errstate(invalid="ignore"):
            return np.asarray(following / occupation.sum(1)[..., None])

    def init(self, key: Array) -> MarkovState:
        """The state before the first round of the run with this environment key."""
        return self.pairs.init(key)

    def step(self, key: Array, state: MarkovState, arms: Array, t: Array) -> tuple[MarkovState, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and what the player sees."""
        following, feedback = self.pairs.step(key, state, arms, t)
        before, symbols = (pair % self.reward.shape[1] for pair in (feedback.before, feedback.states))
        rewards = jnp.asarray(self.reward, float)[arms, symbols]
        return following, Feedback(arms, before, symbols, rewards, t)


def hidden(
    transition: ArrayLike, emission: ArrayLike, reward: ArrayLike = (0.0, 1.0), *, initial_state: InitialState = 0
) -> HiddenArms:
    """Hidden Markov arms from their transition and emission probabilities.

    Args:
      transition: [K, S, S], row-stochastic, K >= 2, S >= 2; every arm with a single recurrent class.
      emission: [K, S], probability that a state shows symbol 1 and not 0; or [K, S, G], of each symbol. G S is
        at most 64.
      reward: [G] or [K, G], reward of each symbol; not all equal.
      initial_state: every arm's state before its first play: an integer, [K] integers, or the law [K, S] from which it
        is drawn by the run's key; "stationary" is the arm's stationary law.

    Raises:
      ValueError: the argument and what is wrong with it.

    Source: the paper's remark 2; Rabiner 1989 for hidden Markov models.

    >>> hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.7], [0.1, 0.3]]).reward.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    return hidden_of(recurrent(transition), emission, reward, initial_state=initial_state)


def hidden_of(
    moves: np.ndarray, emission: ArrayLike, reward: ArrayLike = (0.0, 1.0), *, initial_state: InitialState = 0
) -> HiddenArms:
    """Hidden arms of matrices [K, S, S] as `recurrent` returns them; one arm alone can be fitted."""
    arms, states = moves.shape[:2]
    shows = finite("emission", emission)
    if shows.shape == (arms, states):
        if (shows < 0).any() or (shows > 1).any():
            raise ValueError("emission: a probability lies outside [0, 1]")
        shows = np.stack([1 - shows, shows], axis=-1)
    if shows.ndim != 3 or shows.shape[:2] != (arms, states) or shows.shape[2] < 2:
        raise ValueError(f"emission: shape {shows.shape} is neither [K, S] = ({arms}, {states}) nor [K, S, G], G >= 2")
    shows = stochastic("emission", shows)
    symbols = shows.shape[2]
    if states * symbols > MOST_STATES:
        raise ValueError(f"emission: {states} states with {symbols} symbols; at most {MOST_STATES} pairs are supported")
    paid = rewards_of(reward, arms, symbols)
    to_pairs = (moves[..., None] * shows[:, None]).reshape(arms, states, states * symbols)
    if ((to_pairs > 0) & (to_pairs < chains.RAREST)).any():
        raise ValueError(
            "emission: a state with a symbol is rarer than 2^-31, too rare to be drawn; make it 0 or larger"
        )
    pairs = markov_of(recurrent(np.repeat(to_pairs, symbols, axis=1), least=1), np.tile(paid, states), 0)
    first = (initial_law(initial_state, moves)[..., None] * shows).reshape(arms, states * symbols)
    pairs = replace(pairs, initial=first, initial_thresholds=initial_thresholds(first))
    return HiddenArms(transition=moves, emission=shows, reward=paid, pairs=pairs)


@described
class HiddenFit(NamedTuple):
    """Estimated hidden arms; `print` shows how well each number of states fits, and the arms.

    Fields:
      arms: the estimated arms, ready for `simulate`.
      labels: K texts, the arms' names in `data`.
      states: S, the number of states with the least sum of `bic`.
      first_law: "stationary" or "free", what the law of the state in the first step of a sequence is.
      tried: J numbers of states.
      log_likelihood: [K, J], of all symbols, at the estimates with each number of states.
      bic: [K, J], (S (S - 1) + S (G - 1)) log(symbols) - 2 log_likelihood; free first laws add S - 1 numbers.
      predictive: [K, J], mean log-probability of the symbols held out, each given all before it, by the model that was
        fitted to the first ones; NaN without symbols held out.
      transition: [K, S, S].
      emission: [K, S, G].
      means: [K], long-run reward per play.
      standard_errors: [K, S, S], of the transition; NaN where it is (nearly) 0 or 1, or not determined.
      emission_standard_errors: [K, S, G], of the emission; NaN likewise.
      means_standard_errors: [K], of the means.
      number: [K], symbols seen.
      missing: [K], steps whose symbol was not seen.
    """

    arms: HiddenArms
    labels: tuple[str, ...]
    states: int
    first_law: str
    tried: tuple[int, ...]
    log_likelihood: np.ndarray
    bic: np.ndarray
    predictive: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    means: np.ndarray
    standard_errors: np.ndarray
    emission_standard_errors: np.ndarray
    means_standard_errors: np.ndarray
    number: np.ndarray
    missing: np.ndarray

    def __str__(self) -> str:
        width = max(len(label) for label in ("states", *self.labels))
        lines = [f"{'states':{width}s}  {'BIC of all arms':>15s}  {'held out, nats a symbol':>23s}"]
        for place, states in enumerate(self.tried):
            mark = "  chosen" if states == self.states else ""
            mean = self.predictive[:, place].mean()
            held = "-" if np.isnan(mean) else f"{mean:.4f}"
            lines.append(f"{states:{width}d}  {self.bic[:, place].sum():15,.1f}  {held:>23s}{mark}")
        lines.append(f"{'arm':{width}s}  symbols      mean  standard error  states by BIC alone")
        for arm, label in enumerate(self.labels):
            alone = self.tried[int(self.bic[arm].argmin())]
            error = f"{self.means_standard_errors[arm]:14.2g}"
            lines.append(f"{label:>{width}s}  {self.number[arm]:7,d}  {self.means[arm]:8.4g}  {error}  {alone}")
        if self.missing.any():
            lines.append(f"{self.missing.sum():,d} steps without a symbol, in which the states moved unseen.")
        if self.first_law == "stationary":
            lines.append("The first state of each sequence has the stationary law of its arm's states.")
        return "\n".join(lines)
