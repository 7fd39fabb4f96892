"""What a play tells against a mean that the arm does not have, for the classes of arms that there are bounds for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import chains, members
from jaxbandit.arguments import excerpt, has
from jaxbandit.base import Family, reward_table
from jaxbandit.bounds.arms import TOLERANCE, MarkovEnvironment, irreducible, transitions
from jaxbandit.bounds.nearest import nearest_row, two_state_chain, two_state_rate
from jaxbandit.bounds.one_parameter import check_family
from jaxbandit.bounds.search import nearest_chain
from jaxbandit.bounds.shares_of_plays import Informations

BLOCK = 64  # means for which a family's divergence is asked at once

Among = Literal["chains", "independent"] | Family | None


class Class(NamedTuple):
    """The arms that an algorithm has to be right for."""

    name: str
    informations: Informations
    tight: bool  # whether the means at which a pair meets are found for certain
    thorough: Informations | None = None  # by longer searches, where there is no formula
    constant: float = 0.0  # of `Identification`, where `nearest` is None
    nearest: Callable[[int, float], np.ndarray] | None = None  # the chain [S, S] to which an arm is moved, by its mean


def class_of(environment: MarkovEnvironment, best: int, others: np.ndarray, among: Among) -> Class:
    """What plays of the best arm and of the others tell, in the class `among`; None for the smallest known one."""
    own = among is None and (environment.reward is None or members.transition(environment) is None)
    if own:
        among = members.family(environment)
        if among is None:
            raise ValueError(
                "environment: the laws of its arms are of no one-parameter family, and have no finite table of rewards"
            )
    if among is None:
        among = "independent" if independent(environment) else "chains"
    if isinstance(among, str):
        if among not in ("chains", "independent"):
            raise ValueError(f"among: {excerpt(among)} is not one of chains, independent, nor a family")
        return (_chains if among == "chains" else _rows)(environment, best, others)
    has("among", among, 'one of jaxbandit.families, "chains" or "independent"', "validate", "divergence")
    return _family(environment, best, others, among, own)


def independent(environment: MarkovEnvironment) -> bool:
    """Whether the rows of each arm are equal."""
    transition = transitions(environment)
    return bool(np.abs(transition - transition[:, :1]).max() <= TOLERANCE)


def _rows(environment: MarkovEnvironment, best: int, others: np.ndarray) -> Class:
    if not independent(environment):
        raise ValueError(
            "among: the arms are not independent, as rows of their transitions differ; give among='chains'"
        )
    rows, reward = transitions(environment)[:, 0], np.asarray(environment.reward, float)

    def cost(arms: np.ndarray, mean: np.ndarray, sign: int) -> np.ndarray:
        """Of the nearest law to that of arms [P] whose mean is at least (`sign` 1) or at most (-1) `mean` [P, n]."""
        which = np.repeat(arms, mean.shape[1])
        values = sign * (reward[which] - mean.reshape(-1, 1))
        return nearest_row(rows[which], values).cost.reshape(mean.shape)

    def informations(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return cost(np.full(len(mean), best), mean, -1), cost(others, mean, 1)

    return Class("all independent arms with these rewards", informations, True)


def _chains(environment: MarkovEnvironment, best: int, others: np.ndarray) -> Class:
    transition, reward = irreducible(environment), np.asarray(environment.reward, float)
    name = "all chains with these rewards"
    if transition.shape[1] > 2:
        searched = _Searched(transition, reward, best, others)
        return Class(name, searched.quick, False, searched.thorough, nearest=searched.nearest)
    transition = np.array([rows[::-1, ::-1] if pays[1] < pays[0] else rows for rows, pays in zip(transition, reward)])
    low, high, means = reward.min(1), reward.max(1), np.asarray(environment.means(), float)

    def nearest(arm: int, mean: float) -> np.ndarray:
        share = (mean - low[arm]) / (high - low)[arm]
        rows = two_state_chain(transition[arm, 0, 1], transition[arm, 1, 0], np.asarray(share))
        return rows[::-1, ::-1] if reward[arm, 1] < reward[arm, 0] else rows

    def rate(arms: np.ndarray | list[int], mean: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # an arm whose states pay the same has one mean only
            share = (mean - low[arms, None]) / (high - low)[arms, None]
        return two_state_rate(transition[arms, 0, 1, None], transition[arms, 1, 0, None], share)

    def informations(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(mean < means[best], rate([best], mean), 0), rate(others, mean)

    alike = bool((low == low[0]).all() and (high == high[0]).all())
    return Class(name, informations, alike, nearest=nearest)


class _Searched:
    """Rates of chains with three states and more: from everywhere for the farthest mean, then from the chains found."""

    def __init__(self, transition: np.ndarray, reward: np.ndarray, best: int, others: np.ndarray) -> None:
        self.transition, self.reward, self.best, self.others = transition, reward, best, others
        self.found: dict[tuple[int, int], dict[float, np.ndarray]] = {}

    def quick(self, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._informations(mean, again=True)

    def thorough(self, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._informations(mean, again=False)

    def nearest(self, arm: int, mean: float) -> np.ndarray:
        """The chain found for a mean that was asked for."""
        sign = -1 if arm == self.best else 1
        return self.found.get((arm, sign), {}).get(sign * mean, self.transition[arm])

    def _informations(self, mean: np.ndarray, again: bool) -> tuple[np.ndarray, np.ndarray]:
        order = np.unravel_index(mean.argsort(axis=None), mean.shape)
        best, other = np.zeros_like(mean), np.zeros_like(mean)
        for k, j in zip(*order, strict=True):
            best[k, j] = self._rate(self.best, -1, float(mean[k, j]), again)
        for k, j in zip(*(places[::-1] for places in order), strict=True):
            other[k, j] = self._rate(int(self.others[k]), 1, float(mean[k, j]), again)
        return best, other

    def _rate(self, arm: int, sign: int, mean: float, again: bool) -> float:
        """inf{I(P_k || Q) : mean(Q) is at least (`sign` 1) or at most (-1) `mean`}; the flip is one of rewards."""
        reward, target = sign * self.reward[arm], sign * mean
        own = float(chains.stationary(self.transition[arm]) @ reward)
        if target <= own:
            return 0.0
        if target >= reward.max():
            return np.inf
        known = self.found.setdefault((arm, sign), {})
        beyond = [at for at in known if at > target]
        near = known[min(beyond)] if again and beyond else None
        nearest = nearest_chain(self.transition[arm], reward, target, near=near)
        known[target] = nearest.rows
        return nearest.rate


def _family(environment: MarkovEnvironment, best: int, others: np.ndarray, family: Family, own: bool) -> Class:
    means = np.asarray(environment.means(), float)

    def divergences(mean: np.ndarray) -> np.ndarray:
        """D(mean of each arm || mean), [N, K], in blocks of one size, for which one program is compiled."""
        padded = np.resize(mean, -(-len(mean) // BLOCK) * BLOCK).reshape(-1, BLOCK)
        with jax.enable_x64(True):
            return np.concatenate([np.asarray(_divergences(family, means, block), float) for block in padded])[
                : len(mean)
            ]

    if not own:  # the numbers of their own may be [K]
        family.validate(reward_table(environment))
        check_family(environment, family, others, best, divergences(means[[best]])[0, others])

    def informations(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        every = divergences(mean.ravel()).reshape(*mean.shape, len(means))
        return every[..., best], every[np.arange(len(others)), :, others]

    of_chains = members.transition(environment) is not None and not independent(environment)
    name = f"all arms of the family {type(family).__name__}"
    return Class(name, informations, True, constant=np.nan if of_chains else 0.0)


@jax.jit
@partial(jax.vmap, in_axes=(None, None, 0))
def _divergences(family: Family, means: jax.Array, mean: jax.Array) -> jax.Array:
    """D(mean of each arm || mean), [K], by a family with one set of numbers or one an arm."""
    return family.divergence(means, jnp.full_like(means, mean))
