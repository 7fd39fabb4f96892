"""The Gittins index of an arm with two states with Beta priors of its rows: another recursion, the chain of counts."""

import numpy as np
import pytest

from jaxbandit import indices

VALUES = [  # in state 0 and in state 1
    (0.9, (1, 1, 1, 1), (0.6256946, 0.6825183)),
    (0.9, (2, 1, 1, 2), (0.5884258, 0.7902750)),
    (0.9, (1, 2, 2, 1), (0.6666667, 0.5475644)),
    (0.9, (0.5, 0.5, 0.5, 0.5), (0.6798731, 0.7615440)),
    (0.5, (1, 1, 1, 1), (0.5234237, 0.5573459)),
    (0.5, (2, 1, 1, 2), (0.4146728, 0.7056503)),
    (0.5, (1, 2, 2, 1), (0.6666667, 0.4452570)),
    (0.5, (0.5, 0.5, 0.5, 0.5), (0.5345765, 0.5857953)),
]


@pytest.mark.parametrize(("discount", "prior", "expected"), VALUES)
def test_values(discount, prior, expected):
    """Numbers of seven digits from a recursion in layers of its own; at .9 with half of the depth."""
    depth = 80 if discount == 0.9 else None
    result = indices.gittins_beta_rows(np.reshape(prior, (2, 2)), discount, depth)
    np.testing.assert_allclose(result, expected, atol=1e-6)


def chain_of_counts(prior, reward, start, depth):
    """Rows and rewards of the chain of counts and present state, which pays its mean for ever after `depth` plays."""
    numbers, todo = {}, [((0, 0, 0, 0), start)]
    for known in todo:
        if known in numbers:
            continue
        numbers[known] = len(numbers)
        counts, state = known
        if sum(counts) < depth:
            for after in (0, 1):
                more = tuple(count + (k == 2 * state + after) for k, count in enumerate(counts))
                todo.append((more, after))
    size = len(numbers)
    rows, paid = np.zeros((2 * size, 2 * size)), np.zeros(2 * size)  # the second half pays its mean for ever
    for (counts, state), i in numbers.items():
        posterior = prior + np.reshape(counts, (2, 2))
        chances = posterior / posterior.sum(1, keepdims=True)
        paid[i] = reward[state]
        rows[size + i, size + i] = 1
        paid[size + i] = (reward[0] * chances[1, 0] + reward[1] * chances[0, 1]) / (chances[0, 1] + chances[1, 0])
        if sum(counts) == depth:
            rows[i, size + i] = 1
            continue
        for after in (0, 1):
            more = tuple(count + (k == 2 * state + after) for k, count in enumerate(counts))
            rows[i, numbers[more, after]] = chances[state, after]
    return rows, paid


@pytest.mark.parametrize("seed", range(3))
def test_the_chain_of_counts_has_this_index(seed):
    """By elimination of its states, which shares no step with the recursion; with priors and rewards of any size."""
    random = np.random.default_rng(seed)
    prior, reward = random.uniform(0.2, 3, (2, 2)), random.normal(size=2)
    for discount, depth in ((0.0, 1), (0.5, 3), (0.97, 4)):
        result = indices.gittins_beta_rows(prior, discount, depth, reward)
        for start in (0, 1):
            rows, paid = chain_of_counts(prior, reward, start, depth)
            assert result[start] == pytest.approx(indices.gittins(rows[None], paid, discount)[0, 0], abs=1e-10)


def test_deeper_is_within_the_error_that_is_named():
    prior = np.array([[1.0, 2.0], [0.5, 0.7]])
    exact = indices.gittins_beta_rows(prior, 0.8, 100)
    for depth in (1, 5, 20):
        error = np.abs(indices.gittins_beta_rows(prior, 0.8, depth) - exact)
        assert (error <= 0.8**depth / 0.2 + 1e-9).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prior": [1, 1]}, r"prior: shape \(2,\) is not \[2, 2\]"),
        ({"prior": [[1, 0], [1, 1]]}, "prior: 0.0 is not positive"),
        ({"discount": 1.0}, "discount: 1.0"),
        ({"discount": 0.99}, "discount: 0.99 needs a depth of"),
        ({"depth": 251}, "depth: 251"),
        ({"reward": [1, 2, 3]}, r"reward: shape \(3,\) is not \[2\]"),
    ],
)
def test_wrong_arguments_are_named(changed, message):
    with pytest.raises(ValueError, match=message):
        indices.gittins_beta_rows(**{"prior": np.ones((2, 2)), "discount": 0.9} | changed)
