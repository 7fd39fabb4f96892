"""Hidden arms estimated from symbols: against the enumeration of all hidden paths, and on data whose truth is known."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandit.environments import fit_hidden
from jaxbandit.environments.rested import hidden_fitting
from jaxbandit.environments.rested.baum_welch import Model, Shown, filtered, improved
from jaxbandit.environments.rested.first_laws import improved_rows, stationary


@pytest.fixture(autouse=True)
def _in_float64():
    with jax.enable_x64(True):
        yield


def shown_of(sequences, hidden_from=None):
    """The sequences one after the other, -1 for a missing symbol; steps from `hidden_from` on do not count."""
    symbols = np.concatenate(sequences)
    begins = np.zeros(len(symbols), bool)
    begins[np.cumsum([0, *map(len, sequences)])[:-1]] = True
    counts = np.arange(len(symbols)) < (len(symbols) if hidden_from is None else hidden_from)
    return Shown(*(jnp.asarray(each) for each in (np.maximum(symbols, 0), begins, counts, counts & (symbols >= 0))))


def by_paths(model, sequences):
    """Likelihood, law of the last state, expected moves, shows and first states, from every hidden path."""
    rows, shows, first = (np.asarray(each) for each in model)
    log_likelihood, moves, shown, begun = 0.0, np.zeros_like(rows), np.zeros_like(shows), np.zeros_like(first)
    for symbols in sequences:
        paths, seen = np.array(list(itertools.product(range(len(rows)), repeat=len(symbols)))), symbols >= 0
        before, after, showing = paths[:, :-1], paths[:, 1:], (paths[:, seen], symbols[seen])
        chance = first[paths[:, 0]] * rows[before, after].prod(1) * shows[showing].prod(1)
        log_likelihood += np.log(chance.sum())
        weights = chance / chance.sum()
        np.add.at(moves, (before, after), weights[:, None])
        np.add.at(shown, showing, weights[:, None])
        np.add.at(begun, paths[:, 0], weights)
    return log_likelihood, np.bincount(paths[:, -1], weights), moves, shown, begun


@pytest.mark.parametrize(("states", "symbols"), [(2, 2), (3, 4)])
def test_filter_and_expected_counts_are_those_of_all_paths(states, symbols):
    """Some symbols are missing: between others, and in a first step. Three more at the end, which do not count."""
    random = np.random.default_rng(states)
    laws = [random.dirichlet(np.ones(n), size) for n, size in ((states, states), (symbols, states), (states, None))]
    model = Model(*map(jnp.asarray, laws))
    sequences = [random.integers(0, symbols, length) for length in (6, 1, 5)]
    sequences[0][[2, 3]] = sequences[2][0] = -1
    likelihood, last, moves, shows, begun = by_paths(model, sequences)
    longer = shown_of([*sequences[:2], np.append(sequences[2], (1, 0, 1))], hidden_from=12)
    laws, _, computed = jax.jit(filtered)(model, longer)
    assert float(computed) == pytest.approx(likelihood, abs=1e-12)
    np.testing.assert_allclose(laws[11], last, atol=1e-12)
    after, before = jax.jit(improved)(model, longer)
    assert float(before) == pytest.approx(likelihood, abs=1e-12)
    for computed, expected in zip(after, (moves, shows, begun)):
        np.testing.assert_allclose(computed, expected / expected.sum(-1, keepdims=True), atol=1e-12)


def test_rows_tied_to_the_first_law_are_the_best_ones():
    """By a search over the rows of two states, whose stationary law is (p10, p01) / (p01 + p10)."""
    moves, begun = np.array([[30.0, 4.0], [7.0, 9.0]]), np.array([5.0, 40.0])

    def value(numbers):
        (p01, p10), law = numbers, np.array([numbers[1], numbers[0]]) / sum(numbers)
        return (moves * np.log([[1 - p01, p01], [p10, 1 - p10]])).sum() + begun @ np.log(law)

    best = minimize(lambda numbers: -value(numbers), (0.3, 0.3), bounds=[(0.01, 0.99)] * 2).x
    turn, rows = jax.jit(improved_rows), jnp.full((2, 2), 0.5)
    for _ in range(15):
        rows = turn(rows, moves, begun)
    np.testing.assert_allclose([rows[0, 1], rows[1, 0]], best, atol=1e-5)
    np.testing.assert_allclose(stationary(rows), np.array([rows[1, 0], rows[0, 1]]) / (rows[0, 1] + rows[1, 0]))
    assert value(best) > value((4 / 34, 7 / 16)) + 1  # the frequencies of the moves are far from the best


def drawn(random, rows, shows, steps):
    state, symbols = 0, []
    for _ in range(steps):
        state = random.choice(len(rows), p=rows[state])
        symbols.append(random.choice(len(shows[state]), p=shows[state]))
    return symbols


TWO = [[0.95, 0.05], [0.1, 0.9]], [[0.9, 0.1], [0.2, 0.8]]
FAST = [[0.4, 0.6], [0.7, 0.3]], [[0.95, 0.05], [0.1, 0.9]]


@pytest.mark.slow
def test_the_number_of_states_and_the_means():
    """Two arms with two states, 1,000 symbols each: BIC says two, and their numbers are near.

    The standard error of a mean is at most .05 here, of a probability .04; four of them are allowed. Two arms whose
    symbols are independent have one state: they are two equal states, whose mean is the average.
    """
    random = np.random.default_rng(2)
    data = {"slow": drawn(random, *TWO, 1000), "fast": drawn(random, *FAST, 1000)}
    fitted = fit_hidden(data, (0, 1), states=[2, 1], starts=3)
    assert fitted.states == 2 and fitted.tried == (1, 2) and (fitted.bic.argmin(axis=1) == 1).all()
    assert fitted.bic[0, 1] == pytest.approx(5 * np.log(1000) - 2 * fitted.log_likelihood[0, 1])
    assert fitted.predictive.mean(axis=0).argmax() == 1 and (np.diff(fitted.log_likelihood, axis=1) > 0).all()
    np.testing.assert_allclose(fitted.transition[0], TWO[0], atol=0.16)
    np.testing.assert_allclose(fitted.emission[:, :, 1], [[0.1, 0.8], [0.05, 0.9]], atol=0.16)
    truth = [(0.1 * 0.1 + 0.05 * 0.8) / 0.15, (0.7 * 0.05 + 0.6 * 0.9) / 1.3]
    np.testing.assert_allclose(fitted.means, truth, atol=0.2)
    np.testing.assert_allclose(fitted.arms.means(), fitted.means)
    shown = shown_of([np.array(data["slow"])])
    near = Model(jnp.asarray(TWO[0]), jnp.asarray(TWO[1]), jnp.asarray([0.5, 0.5]))
    assert fitted.log_likelihood[0, 1] > float(jax.jit(filtered)(near, shown)[2])
    assert "chosen" in str(fitted) and "slow" in str(fitted)
    data = (random.random((2, 1000)) < [[0.3], [0.7]]).astype(float)
    fitted = fit_hidden(list(data), states=(1, 2), starts=3)
    assert fitted.states == 1 and fitted.tried == (1, 2)
    np.testing.assert_allclose(fitted.means, data.mean(1), atol=1e-9)
    shares = np.array([1 - data[0].mean(), data[0].mean()])
    assert fitted.log_likelihood[0, 0] == pytest.approx(1000 * (shares * np.log(shares)).sum(), abs=1e-6)


def test_estimates_near_nothing_become_nothing():
    """Rows stay laws, and symbols that a state hardly ever shows are never drawn."""
    models = Model(
        np.array([[[1 - 1e-5, 1e-5], [0.5, 0.5]]] * 2),
        np.array([[[1e-6, 1 - 1e-6], [0.9, 0.1]]] * 2),
        np.array([[0.2, 0.8]] * 2),
    )
    pays = np.array([0.0, 1.0])
    ordered = hidden_fitting._ordered(models, np.tile(pays, (2, 1)))
    np.testing.assert_array_equal(ordered.first, [[0.8, 0.2]] * 2)
    arms = hidden_fitting._arms(ordered, pays, ("a", "b"), "stationary", tied=False)
    np.testing.assert_array_equal(arms.transition, [[[0.5, 0.5], [0, 1]]] * 2)  # what pays less comes first
    np.testing.assert_array_equal(arms.emission, [[[0.9, 0.1], [0, 1]]] * 2)
    split = models._replace(transition=np.array([[[1 - 1e-9, 1e-9], [3e-9, 1 - 3e-9]]] * 2))
    with pytest.raises(ValueError, match="data: the states fitted to arm a do not all lead to one another"):
        hidden_fitting._arms(split, pays, ("a", "b"), "stationary", tied=False)
    arms = hidden_fitting._arms(split, pays, ("a", "b"), "stationary", tied=True)  # they keep their long-run law
    np.testing.assert_allclose(arms.means(), 0.75 * 1 + 0.25 * 0.1, atol=1e-6)
    assert (arms.transition[0][[0, 1], [1, 0]] < 3e-4).all()


def log_likelihood(numbers, first, sequences):
    """By p01, p10 and the chances e0, e1 of symbol 1 (-1: missing), in a NumPy loop; first None: the stationary law."""
    p01, p10, e0, e1 = numbers
    rows, shows = np.array([[1 - p01, p01], [p10, 1 - p10]]), np.array([[1 - e0, e0, 1], [1 - e1, e1, 1]])
    total = 0.0
    for symbols in sequences:
        law = np.array([p10, p01]) / (p01 + p10) if first is None else first
        for n, symbol in enumerate(symbols):
            weights = (law @ rows if n else law) * shows[:, symbol]
            total, law = total + np.log(weights.sum()), weights / weights.sum()
    return total


@pytest.mark.parametrize(("pieces", "share"), [(1, 0.5), (100, 0.1)])
@pytest.mark.slow
def test_standard_errors_are_those_of_the_second_differences(pieces, share):
    """By differences of the likelihood in the probabilities themselves; the derivatives are by exponents.

    Half of the symbols are missing in one sequence, whose first law is free, where cutting at gaps says nothing of slow
    states; and a tenth in pieces of 15 steps, which have the stationary one. The estimates are within four errors.
    """
    random = np.random.default_rng(7)
    symbols = np.array(drawn(random, *TWO, 1500))
    sequences = np.where(random.random(1500) < share, -1, symbols).reshape(pieces, -1)
    data = [[None if symbol < 0 else int(symbol) for symbol in each] for each in sequences]
    fitted = fit_hidden([data, data], (0, 1), states=2, starts=2, held_out=0)
    rows, shows = fitted.transition[0], fitted.emission[0]
    at = np.array([rows[0, 1], rows[1, 0], shows[0, 1], shows[1, 1]])
    sure = max(np.eye(2), key=lambda law: log_likelihood(at, law, sequences))  # the most likely first state
    first, close = (sure, 3e-2) if pieces == 1 else (None, 3e-3)  # a free first law is nearly sure, and counts a little
    assert fitted.first_law == ("free" if pieces == 1 else "stationary") and np.isnan(fitted.predictive).all()
    assert fitted.log_likelihood[0, 0] == pytest.approx(log_likelihood(at, first, sequences), abs=1e-3)
    step, units = 1e-4, np.eye(4)

    def moved(*signs_and_axes):
        return log_likelihood(at + step * sum(sign * units[axis] for sign, axis in signs_and_axes), first, sequences)

    second = np.zeros((4, 4))
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        corners = [(a, b, moved((a, i), (b, j))) for a in (1, -1) for b in (1, -1)]
        second[i, j] = second[j, i] = sum(a * b * corner for a, b, corner in corners) / (4 * step**2)
    covariance = np.linalg.inv(-second)
    errors = fitted.standard_errors[0], fitted.emission_standard_errors[0]
    computed = [errors[0][0, 1], errors[0][1, 0], errors[1][0, 1], errors[1][1, 1]]
    np.testing.assert_allclose(computed, np.sqrt(np.diag(covariance)), rtol=close)
    assert (np.abs(at - (0.05, 0.1, 0.1, 0.8)) < 4 * np.array(computed)).all()
    np.testing.assert_allclose(errors[0][:, 0], errors[0][:, 1])  # those of a row of two entries are one
    p01, p10, e0, e1 = at
    total = p01 + p10
    slopes = np.array([p10 * (e1 - e0) / total**2, -p01 * (e1 - e0) / total**2, p10 / total, p01 / total])
    assert fitted.means[0] == pytest.approx((p10 * e0 + p01 * e1) / total)
    assert fitted.means_standard_errors[0] == pytest.approx(np.sqrt(slopes @ covariance @ slopes), rel=close)


@pytest.mark.slow
def test_no_standard_error_at_an_edge():
    """A state that never shows symbol 1; and one state, whose errors are those of independent symbols."""
    random = np.random.default_rng(3)
    sure = drawn(random, [[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.3, 0.7]], 1000)
    fitted = fit_hidden([sure, sure[::-1]], (0, 1), states=2, starts=2, held_out=0)
    assert np.isnan(fitted.emission_standard_errors[0, 0]).all() and np.isfinite(fitted.standard_errors[0]).all()
    independent = list(random.integers(0, 2, (2, 1000)))
    fitted = fit_hidden(independent, (0, 1), states=1, held_out=0)
    assert np.isnan(fitted.standard_errors).all() and fitted.standard_errors.shape == (2, 2, 2)
    share = np.mean(independent[0])
    error = np.sqrt(share * (1 - share) / 1000)
    np.testing.assert_allclose(fitted.emission_standard_errors[0], error, rtol=1e-6)
    np.testing.assert_allclose(fitted.means_standard_errors[0], error, rtol=1e-6)


def test_errors():
    data = [[0, 1, 1, 0, 1, 0, 0, 1, 1, 1]] * 2
    for given, message in (
        ({"data": [[0] * 10, data[0]]}, "data: arm 0 shows symbol 0 only, which tells no state from another"),
        ({"states": 3}, "states: 3 have 11 free numbers, more than 10 symbols of arm 0 can tell"),
        ({"states": (1, 9)}, "states: 9 is not among the integers from 1 to 8"),
        ({"held_out": 0.95}, "held_out: 0.95"),
        ({"starts": 0}, "starts: 0"),
        ({"data": [[0, 2], [1, 0]]}, "data"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_hidden(**({"data": data, "reward": (0, 1), "states": 2} | given))
