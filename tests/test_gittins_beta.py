"""The Gittins index of Beta priors: published tables, and the index of the chain of posteriors."""

import numpy as np
import pytest

from jaxbandit import indices

TABLE = [  # of Beta(1, 1), Beta(2, 1) and Beta(1, 2); for 0.9 and 0.99 the first four digits are in published tables
    (0.5, [0.559019, 0.705967, 0.375822]),
    (0.9, [0.702889, 0.800056, 0.500129]),
    (0.99, [0.869860, 0.910177, 0.700543]),
]


@pytest.mark.parametrize(("discount", "expected"), TABLE)
def test_tables(discount, expected):
    """Numbers of six digits from another recursion, and an error of at most 1e-6 from the depth."""
    result = indices.gittins_beta([1, 2, 1], [1, 1, 2], discount)
    np.testing.assert_allclose(result, expected, atol=1.6e-6)


def chain_of_posteriors(a, b, depth):
    """Rows and rewards of the chain whose states are successes, failures and what the last play paid, then the mean."""
    numbers = {}
    for n in range(depth + 1):
        for s in range(n + 1):
            numbers.update({(s, n - s, paid): None for paid in (0, 1)})
    numbers |= {(s, "for ever"): None for s in range(depth + 1)}
    numbers = {state: i for i, state in enumerate(numbers)}
    rows, reward = np.zeros((len(numbers), len(numbers))), np.zeros(len(numbers))
    for (s, *rest), i in numbers.items():
        if rest == ["for ever"]:
            rows[i, i], reward[i] = 1, (a + s) / (a + b + depth)
            continue
        f, reward[i] = rest[0], rest[1]
        if s + f == depth:
            rows[i, numbers[s, "for ever"]] = 1
            continue
        mean = (a + s) / (a + b + s + f)
        rows[i, numbers[s + 1, f, 1]], rows[i, numbers[s, f + 1, 0]] = mean, 1 - mean
    return rows, reward


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2.5, 0.3)])
def test_the_chain_of_posteriors_has_this_index(a, b):
    """By elimination of its states, which shares no step with the recursion."""
    for discount in (0.0, 0.5, 0.97):
        for depth in (1, 6):
            exact = indices.gittins([(chain := chain_of_posteriors(a, b, depth))[0]], chain[1], discount)[0, 0]
            assert indices.gittins_beta(a, b, discount, depth) == pytest.approx(exact, abs=1e-12)


def test_the_error_is_below_its_bound():
    """Against ten times the depth; an index grows with the depth, and is the mean without a future."""
    a, b = np.array([[1.0], [0.2], [9.0]]), np.array([0.5, 3.0])
    for discount, depth in ((0.9, 28), (0.9, 5), (0.98, 40)):
        short, long = (indices.gittins_beta(a, b, discount, n) for n in (depth, 10 * depth))
        bound = discount**depth / (4 * (1 - discount) * np.sqrt(a + b + depth + 1))
        assert short.shape == (3, 2) and (long - short >= -1e-12).all() and (long - short <= bound).all()
    np.testing.assert_allclose(indices.gittins_beta(a, b, 0.0), a / (a + b), atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"b": [1.0, 0.0]}, r"^b: 0.0 is not positive"),
        ({"discount": 1.0}, r"^discount: "),
        ({"discount": 0.9999}, r"^discount: 0.9999 needs a depth of more than 4,000 plays"),
        ({"depth": 0}, r"^depth: 0 is not among the integers from 1 to 4,000"),
    ],
)
def test_wrong_arguments(changed, message):
    with pytest.raises(ValueError, match=message):
        indices.gittins_beta(**{"a": 1.0, "b": 1.0, "discount": 0.9} | changed)
