"""From scores to arms: the order of the largest scores against NumPy's stable sort, however many arms and plays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit import top_arms
from jaxbandit.fast import over_runs

KINDS = ["distinct", "ties", "nan", "infinite", "zeros"]


def scores_of(kind, runs, arms):
    random = np.random.default_rng(arms)
    scores = random.normal(size=(runs, arms)).astype(np.float32)
    if kind == "ties":
        return scores.round()
    if kind == "zeros":
        return random.choice(np.array([0.0, -0.0], np.float32), scores.shape)
    some, others = random.random((2, *scores.shape)) < 0.4
    if kind == "nan":
        scores[some] = np.nan
    if kind == "infinite":
        scores[some], scores[others] = np.inf, -np.inf
    return scores


@pytest.mark.parametrize(
    ("arms", "plays"), [(5, 1), (5, 2), (32, 2), (32, 17), (40, 2), (40, 16), (40, 17), (40, 40), (300, 1), (300, 16)]
)
def test_the_largest_first_and_the_lowest_arm_of_those_equal(arms, plays):
    scores = np.concatenate([scores_of(kind, 20, arms) for kind in KINDS])
    expected = np.argsort(-np.where(np.isnan(scores), -np.inf, scores), axis=1, kind="stable")[:, :plays]
    result = jax.jit(over_runs(lambda scores: top_arms(scores, plays)))(jnp.asarray(scores.T))
    np.testing.assert_array_equal(result.T, expected)
