"""Hidden Markov arms estimated from the symbols that they showed, and how many states they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import choice, integer, list_of, number
from jaxbandit.base import check_key, described
from jaxbandit.environments.rested.baum_welch import Model, Shown, filtered, fitted
from jaxbandit.environments.rested.columns import Gaps
from jaxbandit.environments.rested.fitting import mean_error, observed_with_rewards
from jaxbandit.environments.rested.hidden_arms import HiddenArms, hidden
from jaxbandit.environments.rested.hidden_errors import errors_of
from jaxbandit.environments.rested.markov_arms import InitialState
from jaxbandit.environments.rested.sequences import Data

MOST_STATES, MOST_PAIRS = 8, 64
RAREST = 3e-5  # smaller estimates of probabilities become 0, so that all pairs of a state and a symbol can be drawn


@described
class HiddenFit(NamedTuple):
    """Estimated hidden arms; `print` shows how well each number of states fits, and the arms.

    Fields:
      arms: the estimated arms, ready for `simulate`.
      labels: K texts, the arms' names in `data`.
      states: S, the number of states with the least sum of `bic`.
      tried: J numbers of states.
      log_likelihood: [K, J], of all symbols, at the estimates with each number of states.
      bic: [K, J], (S (S - 1) + S (G - 1) + S - 1) log(symbols) - 2 log_likelihood.
      predictive: [K, J], mean log-probability of the symbols held out, each given all before it, by the model that was
        fitted to the first ones; NaN without symbols held out.
      transition: [K, S, S].
      emission: [K, S, G].
      means: [K], long-run reward per play.
      standard_errors: [K, S, S], of the transition; NaN where it is (nearly) 0 or 1, or not determined.
      emission_standard_errors: [K, S, G], of the emission; NaN likewise.
      means_standard_errors: [K], of the means.
      number: [K], symbols.
    """

    arms: HiddenArms
    labels: tuple[str, ...]
    states: int
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
        return "\n".join(lines)


def fit_hidden(
    data: Data,
    reward: ArrayLike | Mapping[str, float] | None = None,
    *,
    states: int | Iterable[int] = (1, 2, 3),
    columns: Mapping[str, str] | None = None,
    gaps: Gaps = "error",
    held_out: float = 0.25,
    starts: int = 10,
    key: Any = None,
    initial_state: InitialState = "stationary",
) -> HiddenFit:
    """Hidden Markov arms from the symbols that they showed, with the number of states that fits best.

    For each arm and each number of states the likelihood of its symbols is maximised by expectation maximisation (Baum
    and Welch), from several random starts. The filter gives it exactly: with b the law of the state given all symbols
    so far, the next symbol o has the chance sum over s of (b P)_s e_so, and b becomes (b P)_s e_so over that. The
    number of states is the one with the least BIC of all arms together; `predictive` says how well each number predicts
    symbols that were held out. One state means independent symbols; the arms then have two states that show the same.

    Args:
      data: the K arms' sequences of symbols, or a table of them, as for `fit`, whose states are symbols here.
      reward: [G] or [K, G], reward of each symbol; `data` are then symbols, 0 to G - 1. Or a dictionary from the names
        that symbols have in `data`. None: `data` are rewards; their distinct values over all arms are the symbols.
      states: a number, or several of which one is chosen; 1 to 8, with at most 64 pairs of a state and a symbol.
      columns, gaps: as for `fit`.
      held_out: from 0 to 0.9, the share of each arm's symbols, the last ones, that the models for `predictive` do not
        see. All other results are of all symbols.
      starts: from which a maximum is searched, 1 to 1,000.
      key: a `jax.random.key` for the starts, key(0) by default.
      initial_state: of `arms`, as for `hidden`.

    States are in the order of the mean rewards that they show, the least first. Estimates are in float64. Standard
    errors are roots of the diagonal of the inverse of the observed information, as if the number of states were known;
    with few symbols, or states much alike, they are too small. The standard error of a mean is the asymptotic standard
    deviation of the average of that arm's rewards under the estimates.

    Raises:
      ValueError: the argument and what is wrong with it; an arm that shows one symbol only, and more states than an
        arm's symbols can tell.
      OSError: the file cannot be read.

    Source: Baum, Petrie, Soules and Weiss 1970; Rabiner 1989; Schwarz 1978 for BIC.

    >>> random = np.random.default_rng(0)
    >>> blocks = [np.repeat(random.random(60) < 0.5, 20), np.repeat(random.random(60) < 0.3, 20)]  # slow states
    >>> noisy = [np.where(random.random(len(each)) < 0.1, ~each, each).astype(int) for each in blocks]
    >>> fitted = fit_hidden(noisy, (0, 1), states=(1, 2), starts=3, held_out=0)
    >>> fitted.states, fitted.emission[0, :, 1].round(1).tolist()
    (2, [0.1, 0.9])
    """
    choice("gaps", gaps, get_args(Gaps))
    held_out = number("held_out", held_out, 0, 0.9)
    starts = integer("starts", starts, 1, 1000)
    tried = _numbers(states)
    key = jax.random.key(0) if key is None else key
    check_key(key)
    seen, sequences, table, _ = observed_with_rewards(data, reward, columns, gaps)
    symbols = table.shape[-1]
    lengths = np.array([sum(map(len, arm)) for arm in sequences])
    _check_enough(seen.labels, sequences, tried, symbols)
    with jax.enable_x64(True):
        shown = _shown(sequences, lengths.max())
        first = np.arange(lengths.max())[None] < np.ceil((1 - held_out) * lengths)[:, None]
        part = shown._replace(counts=shown.counts & first)
        all_of_them = [_fit(key, shown, each, symbols, starts) for each in tried]
        before = [_fit(key, part, each, symbols, starts)[0] if held_out else None for each in tried]
        predictive = np.stack([_predicted(model, part, shown) for model in before], axis=1)
    likelihoods = np.stack([np.asarray(likelihood) for _, likelihood in all_of_them], axis=1)
    free = np.array([_free(each, symbols) for each in tried])
    bic = free * np.log(lengths)[:, None] - 2 * likelihoods
    best = int(bic.sum(axis=0).argmin())
    models = _ordered(all_of_them[best][0], table)
    with jax.enable_x64(True):
        errors = jax.tree.map(np.asarray, errors_of(jax.tree.map(jnp.asarray, models), shown))
    arms = _arms(models, table, seen.labels, initial_state)
    return HiddenFit(
        arms=arms,
        labels=seen.labels,
        states=tried[best],
        tried=tried,
        log_likelihood=likelihoods,
        bic=bic,
        predictive=predictive,
        transition=np.asarray(arms.transition),
        emission=np.asarray(arms.emission),
        means=arms.means(),
        standard_errors=np.broadcast_to(errors.transition, arms.transition.shape).copy(),
        emission_standard_errors=np.broadcast_to(errors.emission, arms.emission.shape).copy(),
        means_standard_errors=np.array(
            [
                mean_error(rows, pays, length * chains.stationary(rows))
                for rows, pays, length in zip(np.asarray(arms.pairs.transition), np.asarray(arms.pairs.reward), lengths)
            ]
        ),
        number=lengths,
    )


def _numbers(states: int | Iterable[int]) -> tuple[int, ...]:
    """The numbers of states to try, each once, the least first."""
    asked = [states] if isinstance(states, int | np.integer) else list_of("states", states)
    if not asked:
        raise ValueError("states: none; give a number or several, such as (1, 2, 3)")
    return tuple(sorted({integer("states", each, 1, MOST_STATES) for each in asked}))


def _free(states: int, symbols: int) -> int:
    """How many numbers of a model are free."""
    return states * (states - 1) + states * (symbols - 1) + states - 1


def _check_enough(
    labels: tuple[str, ...], sequences: list[list[np.ndarray]], tried: tuple[int, ...], symbols: int
) -> None:
    """Raise ValueError for arms whose symbols say nothing of states, or less than a model has free numbers."""
    most = tried[-1]
    if most * symbols > MOST_PAIRS:
        raise ValueError(f"states: {most} with {symbols} symbols; at most {MOST_PAIRS} pairs of them are supported")
    free = _free(most, symbols)
    for label, arm in zip(labels, sequences, strict=True):
        together = np.concatenate(arm)
        if most > 1 and (together == together[0]).all():
            raise ValueError(
                f"data: arm {label} shows symbol {together[0]} only, which tells no state from another; leave it out, "
                "or give states=1"
            )
        if free >= len(together):
            raise ValueError(
                f"states: {most} have {free} free numbers, more than {len(together)} symbols of arm {label} can tell"
            )


def _shown(sequences: list[list[np.ndarray]], longest: int) -> Shown:
    """What the arms showed, [K, T] each, filled up to the longest."""
    arms = len(sequences)
    symbols, begins, counts = (np.zeros((arms, longest), kind) for kind in (np.int32, bool, bool))
    for k, arm in enumerate(sequences):
        starts = np.cumsum([0, *map(len, arm)])
        symbols[k, : starts[-1]] = np.concatenate(arm)
        begins[k, starts[:-1]] = True
        counts[k, : starts[-1]] = True
    return Shown(jnp.asarray(symbols), jnp.asarray(begins), jnp.asarray(counts))


def _fit(key: Any, shown: Shown, states: int, symbols: int, starts: int) -> tuple[Model, Any]:
    """The best models [K, ..] with this number of states, and their log-likelihoods [K]."""
    arms, starts = len(shown.counts), starts if states > 1 else 1
    keys = jax.random.split(jax.random.fold_in(key, states), 2)
    rows = jax.random.dirichlet(keys[0], jnp.ones(states), (arms, starts, states))
    shows = jax.random.dirichlet(keys[1], jnp.ones(symbols), (arms, starts, states))
    first = jnp.full((arms, starts, states), 1 / states)
    lasting = (rows + jnp.eye(states)[None, None]) / 2  # states that last are the easiest to tell apart
    return fitted(Model(lasting, shows, first), shown)


def _predicted(model: Model | None, part: Shown, shown: Shown) -> np.ndarray:
    """[K], the mean log-probability of the symbols that count in `shown` and not in `part`; NaN without a model."""
    if model is None:
        return np.full(len(shown.counts), np.nan)
    every, first = (np.asarray(jax.vmap(filtered)(model, each)[2]) for each in (shown, part))
    left = np.sum(np.asarray(shown.counts & ~part.counts), axis=1)
    return (every - first) / np.where(left > 0, left, np.nan)


def _ordered(models: Model, table: np.ndarray) -> Model:
    """The models [K, ..] as NumPy arrays, each with its states in the order of what they pay, the least first."""
    transition, emission, first = (np.array(each, float) for each in models)
    for k, pays in enumerate(np.broadcast_to(table, (len(emission), table.shape[-1]))):
        order = np.argsort(emission[k] @ pays, kind="stable")
        transition[k], emission[k], first[k] = transition[k][order][:, order], emission[k][order], first[k][order]
    return Model(transition, emission, first)  # type: ignore[arg-type]


def _arms(models: Model, table: np.ndarray, labels: tuple[str, ...], initial_state: InitialState) -> HiddenArms:
    """The arms of models [K, ..]; one state becomes two equal ones."""
    transition, emission = (np.array(each, float) for each in models[:2])
    if transition.shape[1] == 1:
        transition, emission = np.full((len(transition), 2, 2), 0.5), np.repeat(emission, 2, axis=1)
    for each in (transition, emission):
        each[each < RAREST] = 0
        each /= each.sum(axis=-1, keepdims=True)
    for k, rows in enumerate(transition):
        if len(chains.recurrent_classes(rows)) > 1:
            raise ValueError(
                f"data: the states fitted to arm {labels[k]} do not all lead to one another, so that it has no "
                "long-run mean; give fewer `states`, or longer sequences"
            )
    return hidden(transition, emission, table, initial_state=initial_state)
