"""Hidden Markov models by maximum likelihood: the filter, and expectation maximisation (Baum and Welch)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.environments.rested.first_laws import improved_rows, stationary

FIRST_ROUNDS, MOST_ROUNDS = 40, 5000  # of expectation maximisation: from all starts, and from the best one
STILL = 1e-8  # a gain in log-likelihood, for each symbol, that ends it


class Model(NamedTuple):
    """One hidden Markov model.

    Fields:
      transition: [S, S].
      emission: [S, G].
      first: [S], the law of the state in the first step of a sequence.
    """

    transition: Array
    emission: Array
    first: Array


class Shown(NamedTuple):
    """What an arm showed, its sequences one after the other.

    Fields:
      symbols: [T] int32, of any value where none was seen.
      begins: [T] bool, whether a step is the first one of its sequence.
      counts: [T] bool, whether the arm made this step: False for what fills an arm up to the length of the longest.
      seen: [T] bool, whether its symbol was seen; False where the arm moved and nobody looked.
    """

    symbols: Array
    begins: Array
    counts: Array
    seen: Array


def filtered(model: Model, shown: Shown) -> tuple[Array, Array, Array]:
    """The law [T, S] of the state at each step given all symbols so far, their chances [T], and the log-likelihood."""

    def step(law: Array, here: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        symbol, begins, seen = here
        before = jnp.where(begins, model.first, law @ model.transition)
        weights = before * jnp.where(seen, model.emission[:, symbol], 1.0)
        chance = jnp.sum(weights)
        return weights / chance, (weights / chance, chance)

    laws, chances = jax.lax.scan(step, model.first, (shown.symbols, shown.begins, shown.seen))[1]
    return laws, chances, jnp.sum(jnp.where(shown.seen, jnp.log(chances), 0.0))


def improved(model: Model, shown: Shown, tied: bool = False) -> tuple[Model, Array]:
    """The model after one round of expectation maximisation, and the log-likelihood of the model before it.

    If the first law is `tied` to the stationary law of the rows, rows are improved and not maximised, which is enough
    for the likelihood to grow.
    """
    laws, chances, likelihood = filtered(model, shown)
    symbols = jnp.arange(model.emission.shape[1])

    def step(carry: tuple[Array, Model], here: tuple[Array, Array, Shown, Shown]) -> tuple[tuple[Array, Model], None]:
        # `later`: the chance of all later symbols from each state, over their chance given the symbols so far
        later, sums = carry
        law, next_chance, now, after = here
        linked = after.counts & ~after.begins
        ahead = jnp.where(after.seen, model.emission[:, after.symbols], 1.0) * later / next_chance
        later = jnp.where(linked, model.transition @ ahead, 1.0)
        here_law = law * later
        moves = law[:, None] * model.transition * ahead[None]
        return (
            later,
            Model(
                sums.transition + jnp.where(linked, moves, 0.0),
                sums.emission + jnp.where(now.seen, here_law[:, None] * (symbols == now.symbols)[None], 0.0),
                sums.first + jnp.where(now.begins & now.counts, here_law, 0.0),
            ),
        ), None

    following = jax.tree.map(lambda each: jnp.concatenate([each[1:], jnp.zeros_like(each[:1])]), shown)
    next_chances = jnp.concatenate([chances[1:], jnp.ones(1)])
    nothing = jax.tree.map(jnp.zeros_like, model)
    start = jnp.ones_like(model.first), nothing
    (_, sums), _ = jax.lax.scan(step, start, (laws, next_chances, shown, following), reverse=True)

    def shares(counted: Array, before: Array) -> Array:
        sums = jnp.sum(counted, axis=-1, keepdims=True)
        return jnp.where(sums > 0, counted / jnp.where(sums > 0, sums, 1.0), before)

    if not tied:
        return Model(*(shares(*each) for each in zip(sums, model))), likelihood
    rows = improved_rows(model.transition, sums.transition, sums.first)
    return Model(rows, shares(sums.emission, model.emission), stationary(rows)), likelihood


@partial(jax.jit, static_argnames="tied")
def fitted(models: Model, shown: Shown, tied: bool = False) -> tuple[Model, Array]:
    """For each arm the best of its models [K, starts, ..] after expectation maximisation, and its log-likelihood [K].

    All starts go through the first rounds; the one that is then best goes on until it stands still.
    """

    def of_start(model: Model, shown: Shown) -> tuple[Model, Array]:
        model = jax.lax.fori_loop(0, FIRST_ROUNDS, lambda _, model: improved(model, shown, tied)[0], model)
        return model, filtered(model, shown)[2]

    def of_arm(models: Model, shown: Shown) -> tuple[Model, Array]:
        after, likelihoods = jax.vmap(of_start, in_axes=(0, None))(models, shown)
        best = jax.tree.map(lambda each: each[jnp.argmax(likelihoods)], after)
        least = STILL * jnp.sum(shown.seen)

        def goes_on(loop: tuple[Model, Array, Array, Array]) -> Array:
            _, before, now, rounds = loop
            return (rounds < 2) | ((now - before > least) & (rounds < MOST_ROUNDS))

        def turn(loop: tuple[Model, Array, Array, Array]) -> tuple[Model, Array, Array, Array]:
            model, _, before, rounds = loop
            model, now = improved(model, shown, tied)
            return model, before, now, rounds + 1

        low = jnp.array(-jnp.inf)
        model = jax.lax.while_loop(goes_on, turn, (best, low, low, jnp.array(0)))[0]
        return model, filtered(model, shown)[2]

    return jax.vmap(of_arm)(models, shown)
