"""Hidden Markov arms estimated from the symbols that they showed, and how many states they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import choice, integer, list_of, number
from jaxbandit.base import check_key
from jaxbandit.environments.rested.baum_welch import Model, Shown, filtered, fitted
from jaxbandit.environments.rested.first_laws import LEAST, stationary
from jaxbandit.environments.rested.fitting import observed_with_rewards
from jaxbandit.environments.rested.hidden_arms import HiddenArms, HiddenFit, hidden_of
from jaxbandit.environments.rested.hidden_errors import exact
from jaxbandit.environments.rested.markov_arms import InitialState
from jaxbandit.environments.rested.sequence_files import GAPS, Missing
from jaxbandit.environments.rested.sequences import Data

FirstLaw = Literal["stationary", "free"]
MOST_STATES, MOST_PAIRS = 8, 64
RAREST = 3e-5  # smaller estimates of probabilities become 0, so that all pairs of a state and a symbol can be drawn
SHORT = 100  # steps of an average sequence, below which first laws are tied to the stationary laws
ANEW = 10 * RAREST  # chance to begin anew from the stationary law, where states would otherwise never change


def fit_hidden(
    data: Data,
    reward: ArrayLike | Mapping[str, float] | None = None,
    *,
    states: int | Iterable[int] = (1, 2, 3),
    columns: Mapping[str, str] | None = None,
    gaps: Missing = "error",
    held_out: float = 0.25,
    starts: int = 10,
    key: Any = None,
    initial_state: InitialState = "stationary",
    first_law: FirstLaw | None = None,
) -> HiddenFit:
    """Hidden Markov arms from the symbols that they showed, with the number of states that fits best.

    For each arm and each number of states the likelihood of its symbols is maximised by expectation maximisation (Baum
    and Welch), from several random starts. The filter gives it exactly: with b the law of the state given all symbols
    so far, the next symbol o has the chance sum over s of (b P)_s e_so, and b becomes (b P)_s e_so over that, or b P
    where the symbol is missing: the arm moved, and nobody looked. The number of states is the one with the least BIC of
    all arms together; `predictive` says how well each number predicts symbols that were held out. One state means
    independent symbols; the arms then have two states that show the same.

    Args:
      data: the K arms' sequences of symbols, or a table of them, as for `fit`, whose states are symbols here. A symbol
        that is missing is None, NaN or an empty field.
      reward: [G] or [K, G], reward of each symbol; `data` are then symbols, 0 to G - 1. Or a dictionary from the names
        that symbols have in `data`. None: `data` are rewards; their distinct values over all arms are the symbols.
      states: a number, or several of which one is chosen; 1 to 8, with at most 64 pairs of a state and a symbol.
      columns: as for `fit`.
      gaps: what steps that a table leaves out are: "error"; "steps", steps whose symbols are missing; or "split", which
        cuts sequences there and at each missing symbol.
      held_out: from 0 to 0.9, the share of each arm's symbols, the last ones, that the models for `predictive` do not
        see. All other results are of all symbols.
      starts: from which a maximum is searched, 1 to 1,000; every second one has rows of the uniform Dirichlet law, the
        others rows nearer to staying.
      key: a `jax.random.key` for the starts, key(0) by default.
      initial_state: of `arms`, as for `hidden`.
      first_law: of the state in the first step of a sequence: "stationary", the stationary law of the arm's rows, or
        "free", estimated beside them. None: "stationary" if an arm has several sequences of fewer than 100 steps on
        average, because free laws leave the rows, and with them the mean, nearly undetermined then; else "free".

    States are in the order of the mean rewards that they show, the least first. Estimates are in float64. Standard
    errors are roots of the diagonal of the inverse of the observed information, as if the number of states were known;
    with few symbols, or states much alike, they are too small. That of a mean, a function of rows and emissions, comes
    from the same matrix by the delta method. If the likelihood does not determine a number, its error is NaN.

    Raises:
      ValueError: the argument and what is wrong with it; an arm that shows one symbol only, and more states than an
        arm's symbols can tell.
      OSError: the file cannot be read.

    Source: Baum, Petrie, Soules and Weiss 1970; Rabiner 1989; Schwarz 1978 for BIC.

    >>> random = np.random.default_rng(0)
    >>> blocks = [np.repeat(random.random(60) < 0.5, 20), np.repeat(random.random(60) < 0.3, 20)]  # slow states
    >>> noisy = [np.where(random.random(len(each)) < 0.1, ~each, each).astype(int) for each in blocks]
    >>> fitted = fit_hidden(noisy, (0, 1), states=2, starts=3, held_out=0)
    >>> fitted.states, fitted.emission[0, :, 1].round(1).tolist()
    (2, [0.1, 0.9])
    """
    choice("gaps", gaps, GAPS)
    held_out = number("held_out", held_out, 0, 0.9)
    starts = integer("starts", starts, 1, 1000)
    tried = _numbers(states)
    key = jax.random.key(0) if key is None else key
    check_key(key)
    if first_law is not None:
        choice("first_law", first_law, get_args(FirstLaw))
    seen, sequences, table, _ = observed_with_rewards(data, reward, columns, "symbols" if gaps == "error" else gaps)
    symbols = table.shape[-1]
    short = any(len(arm) > 1 and np.mean([*map(len, arm)]) < SHORT for arm in sequences)
    first_law = first_law or ("stationary" if short else "free")
    tied = first_law == "stationary"
    free = np.array([_free(each, symbols, tied) for each in tried])
    number_seen = np.array([sum(int((sequence >= 0).sum()) for sequence in arm) for arm in sequences])
    _check_enough(seen.labels, sequences, tried, symbols, int(free[-1]))
    with jax.enable_x64(True):
        shown = _shown(sequences)
        part = _first_part(shown, np.ceil((1 - held_out) * number_seen))
        all_of_them = [_fit(key, shown, each, symbols, starts, tied) for each in tried]
        before = [_fit(key, part, each, symbols, starts, tied)[0] if held_out else None for each in tried]
        predictive = np.stack([_predicted(model, part, shown) for model in before], axis=1)
    likelihoods = np.stack([np.asarray(likelihood) for _, likelihood in all_of_them], axis=1)
    bic = free * np.log(number_seen)[:, None] - 2 * likelihoods
    best = int(bic.sum(axis=0).argmin())
    pays = np.broadcast_to(table, (len(sequences), symbols))
    models = _ordered(all_of_them[best][0], pays)
    with jax.enable_x64(True):
        models, likelihoods[:, best], errors = exact(models, shown, pays, tied)
    bic[:, best] = free[best] * np.log(number_seen) - 2 * likelihoods[:, best]
    arms = _arms(models, table, seen.labels, initial_state, tied)
    return HiddenFit(
        arms=arms,
        labels=seen.labels,
        states=tried[best],
        first_law=first_law,
        tried=tried,
        log_likelihood=likelihoods,
        bic=bic,
        predictive=predictive,
        transition=np.asarray(arms.transition),
        emission=np.asarray(arms.emission),
        means=arms.means(),
        standard_errors=np.broadcast_to(errors.transition, arms.transition.shape).copy(),
        emission_standard_errors=np.broadcast_to(errors.emission, arms.emission.shape).copy(),
        means_standard_errors=errors.means,
        number=number_seen,
        missing=np.asarray(jnp.sum(shown.counts & ~shown.seen, axis=1)),
    )


def _numbers(states: int | Iterable[int]) -> tuple[int, ...]:
    """The numbers of states to try, each once, the least first."""
    asked = [states] if isinstance(states, int | np.integer) else list_of("states", states)
    if not asked:
        raise ValueError("states: none; give a number or several, such as (1, 2, 3)")
    return tuple(sorted({integer("states", each, 1, MOST_STATES) for each in asked}))


def _free(states: int, symbols: int, tied: bool) -> int:
    """How many numbers of a model are free."""
    return states * (states - 1) + states * (symbols - 1) + (0 if tied else states - 1)


def _check_enough(
    labels: tuple[str, ...], sequences: list[list[np.ndarray]], tried: tuple[int, ...], symbols: int, free: int
) -> None:
    """Raise ValueError for arms whose symbols say nothing of states, or less than a model has free numbers."""
    most = tried[-1]
    if most * symbols > MOST_PAIRS:
        raise ValueError(f"states: {most} with {symbols} symbols; at most {MOST_PAIRS} pairs of them are supported")
    for label, arm in zip(labels, sequences, strict=True):
        together = np.concatenate(arm)
        together = together[together >= 0]
        if most > 1 and (together == together[0]).all():
            raise ValueError(
                f"data: arm {label} shows symbol {together[0]} only, which tells no state from another; leave it out, "
                "or give states=1"
            )
        if free >= len(together):
            raise ValueError(
                f"states: {most} have {free} free numbers, more than {len(together)} symbols of arm {label} can tell"
            )


def _shown(sequences: list[list[np.ndarray]]) -> Shown:
    """What the arms showed, [K, T] each, filled up to the longest."""
    shape = len(sequences), max(sum(map(len, arm)) for arm in sequences)
    symbols, begins, counts = (np.zeros(shape, kind) for kind in (np.int32, bool, bool))
    for k, arm in enumerate(sequences):
        starts = np.cumsum([0, *map(len, arm)])
        symbols[k, : starts[-1]] = np.concatenate(arm)
        begins[k, starts[:-1]] = True
        counts[k, : starts[-1]] = True
    return Shown(*(jnp.asarray(each) for each in (np.maximum(symbols, 0), begins, counts, counts & (symbols >= 0))))


def _first_part(shown: Shown, number: np.ndarray) -> Shown:
    """What the arms showed up to this `number` [K] of symbols."""
    first = shown.seen & (np.cumsum(shown.seen, axis=1) <= number[:, None])
    before = np.flip(np.logical_or.accumulate(np.flip(first, axis=1), axis=1), axis=1)  # steps up to the last of them
    return shown._replace(counts=shown.counts & before, seen=jnp.asarray(first))


def _fit(key: Any, shown: Shown, states: int, symbols: int, starts: int, tied: bool) -> tuple[Model, Any]:
    """The best models [K, ..] with this number of states, and their log-likelihoods [K]."""
    arms, starts = len(shown.counts), starts if states > 1 else 1
    keys = jax.random.split(jax.random.fold_in(key, states), 2)
    rows = jax.random.dirichlet(keys[0], jnp.ones(states), (arms, starts, states))
    shows = jax.random.dirichlet(keys[1], jnp.ones(symbols), (arms, starts, states))
    # States that last are the easiest to tell apart, but from such rows alone those that alternate are seldom reached.
    lasting = (jnp.arange(starts) % 2 == 0)[None, :, None, None]
    rows = jnp.maximum(jnp.where(lasting, (rows + jnp.eye(states)[None, None]) / 2, rows), LEAST)
    first = jax.vmap(jax.vmap(stationary))(rows) if tied else jnp.full((arms, starts, states), 1 / states)
    return fitted(Model(rows, shows, first), shown, tied)


def _predicted(model: Model | None, part: Shown, shown: Shown) -> np.ndarray:
    """[K], the mean log-probability of the symbols seen in `shown` and not in `part`; NaN without a model."""
    if model is None:
        return np.full(len(shown.counts), np.nan)
    every, first = (np.asarray(jax.vmap(filtered)(model, each)[2]) for each in (shown, part))
    left = np.sum(np.asarray(shown.seen & ~part.seen), axis=1)
    return (every - first) / np.where(left > 0, left, np.nan)


def _ordered(models: Model, pays: np.ndarray) -> Model:
    """The models [K, ..] as NumPy arrays, each with its states in the order of what they pay, the least first."""
    transition, emission, first = (np.array(each, float) for each in models)
    for k, order in enumerate(np.argsort(np.einsum("ksg,kg->ks", emission, pays), axis=1, kind="stable")):
        transition[k], emission[k], first[k] = transition[k][order][:, order], emission[k][order], first[k][order]
    return Model(transition, emission, first)  # type: ignore[arg-type]


def _arms(
    models: Model, table: np.ndarray, labels: tuple[str, ...], initial_state: InitialState, tied: bool
) -> HiddenArms:
    """The arms of models [K, ..]; one state becomes two equal ones.

    Where first laws are `tied`, states that never change still have a long-run law: the arms then begin anew from it
    now and then, too seldom for data to tell.
    """
    transition, emission = (np.array(each, float) for each in models[:2])
    if transition.shape[1] == 1:
        transition, emission = np.full((len(transition), 2, 2), 0.5), np.repeat(emission, 2, axis=1)
    for k, rows in enumerate(transition):
        anew = (1 - ANEW) * rows + ANEW * chains.stationary(rows) if tied else rows
        several = len(chains.recurrent_classes(_without_rarest(rows))) > 1
        transition[k] = _without_rarest(anew if several else rows)
        if several and len(chains.recurrent_classes(transition[k])) > 1:
            raise ValueError(
                f"data: the states fitted to arm {labels[k]} do not all lead to one another, so that it has no "
                "long-run mean; give fewer `states`, or longer sequences"
            )
    return hidden_of(transition, _without_rarest(emission), table, initial_state=initial_state)


def _without_rarest(laws: np.ndarray) -> np.ndarray:
    """Laws [.., n] without their smallest probabilities."""
    kept = np.where(laws < RAREST, 0, laws)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))
