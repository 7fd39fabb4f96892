"""The checks of docs/optimality.md against brute force and all trajectories, fixed seeds; a false lemma is seen."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from experiments.theory import chains as of_chains
from experiments.theory import lemmas
from experiments.theory.lemmas import ARMS
from experiments.theory.two_states import Chain, Counts, likeliest_mean, likelihood_ratio, log_probability, types
from jaxbandit import bounds, chains, two_state


def log_likelihood(n, p01, p10):
    terms = zip(n, (1 - p01, p01, p10, 1 - p10), strict=True)
    return sum(count * np.log(max(p, 1e-300)) for count, p in terms if count)


def likeliest(n):
    """p01, p10 and mean of the likeliest chain, of several that with the largest mean."""
    p01 = n[1] / (n[0] + n[1]) if n[0] + n[1] else 1.0
    p10 = n[2] / (n[2] + n[3]) if n[2] + n[3] else 0.0
    return p01, p10, p01 / (p01 + p10) if p10 else 1.0


def brute_ratio(n, mean):
    """J: on the line where the mean is `mean`, by a search that knows nothing of its slope."""
    p01, p10, own = likeliest(n)
    if own >= mean:
        return 0.0
    if mean == 1:
        return np.inf
    rho = (1 - mean) / mean
    grid = np.linspace(0, min(1.0, 1 / rho), 2001)
    values = [log_likelihood(n, a, rho * a) for a in grid]
    at = int(np.argmax(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, 2000)]
    loss = lambda a: -log_likelihood(n, a, rho * a)
    result = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13})
    return log_likelihood(n, p01, p10) - max(-result.fun, values[at])


def test_likelihood_ratio_against_brute_force():
    counts = [n for n in product((0, 1, 3, 20), repeat=4) if abs(n[1] - n[2]) <= 1 and sum(n)]
    for n in counts:
        arrays = Counts(*np.array(n)[:, None])
        assert likeliest_mean(arrays)[0] == pytest.approx(likeliest(n)[2])
        for mean in (0.1, 0.5, 0.9):
            assert likelihood_ratio(arrays, mean)[0] == pytest.approx(brute_ratio(n, mean), rel=1e-7, abs=1e-7), n
        assert likelihood_ratio(arrays, 1.0)[0] == (0 if n[2] == 0 else np.inf)


@pytest.mark.parametrize("chain", [Chain(0.3, 0.6), Chain(1.0, 0.2)])
def test_law_of_types_against_all_trajectories(chain):
    move = np.array([[1 - chain.p01, chain.p01], [chain.p10, 1 - chain.p10]])
    for plays in range(1, 8):
        law = {}
        for path in product((0, 1), repeat=plays):
            moves = np.zeros((2, 2), int)
            np.add.at(moves, ([0, *path[:-1]], path), 1)
            law[tuple(moves.ravel())] = law.get(tuple(moves.ravel()), 0) + np.prod(move**moves)
        counts = types(plays)
        result = dict(zip(zip(*counts, strict=True), np.exp(log_probability(counts, chain)), strict=True))
        assert set(result) == set(law)
        assert all(result[n] == pytest.approx(law[n]) for n in law)


def test_information_is_that_of_the_lower_bound():
    """J of the flow at the best arm's mean is what `bounds.lower` finds by another way, and certifies."""
    lower = bounds.lower(two_state(*np.transpose(ARMS)))
    for k in (1, 2):
        information = float(likelihood_ratio(ARMS[k].flow, ARMS[0].mean))
        assert (ARMS[0].mean - ARMS[k].mean) / information == pytest.approx(lower.per_arm[k], rel=1e-9)


@pytest.mark.parametrize("chain", ARMS)
def test_length_of_a_tour(chain):
    """From the four things that can happen: stand in 0 or 1 and have seen neither, or one of the two."""
    move = np.array([[1 - chain.p01, chain.p01], [chain.p10, 1 - chain.p10]])
    reach = [1 / chain.p01, 1 / chain.p10]  # from a state that has been seen, until the other is
    assert lemmas.tour(chain) == pytest.approx(max(1 + move[s] @ reach for s in (0, 1)))


@pytest.mark.slow
def test_rows_of_the_checks_hold():
    rows = lemmas.check(longest=100)
    assert {row["lemma"] for row in rows} == {"1a", "1b", "3", "7", "8", "(2)", "9", "11"}
    assert [row for row in rows if row["holds"] != "yes"] == []


@pytest.mark.parametrize("states", [3, 4])
def test_line_of_types_obeys_the_conditions_of_a_maximum(states):
    """Likelihood grows along the line as the range of relative values does, by numerical derivatives; flows balance."""
    generator = np.random.default_rng(states)
    chain, reward = generator.dirichlet(np.full(states, 2.0), states), generator.random(states)
    begin, along = of_chains.line_of_types(chain, reward)
    flow = begin + 0.5 * along
    np.testing.assert_allclose(flow.sum(0), flow.sum(1), atol=1e-12)
    assert flow.sum() == pytest.approx(1) and (begin + along).min() == pytest.approx(0, abs=1e-12)
    factors = []
    for _ in range(5):
        step = generator.standard_normal((states, states))
        step = 1e-6 * (step - step.mean(1, keepdims=True))
        ends = [np.ptp(chains.relative_values(chain + sign * step, reward)) for sign in (1, -1)]
        factors.append(2 * (flow / chain * step).sum() / (ends[0] - ends[1]))
    assert factors == pytest.approx([factors[0]] * 5, rel=1e-5) and factors[0] > 0


def test_a_false_lemma_is_seen(monkeypatch):
    """Three times the likelihood ratio, one tour too few, a line of types that begins within the class."""
    monkeypatch.setattr(lemmas, "likelihood_ratio", lambda counts, mean: 3 * likelihood_ratio(counts, mean))
    rows = [row for row in lemmas.likelihoods(100) if row["lemma"] == "7"]
    assert "no" in {row["holds"] for row in rows}
    line = of_chains.line_of_types

    def backwards(chain, reward):
        begin, along = line(chain, reward)
        return begin, -along * (begin[along > 0] / along[along > 0]).min()

    monkeypatch.setattr(of_chains, "line_of_types", backwards)
    assert [row["holds"] for row in of_chains.edge(0, 100)] == ["no"]
    monkeypatch.setattr(lemmas, "CONSTANT", 0)
    assert "no" in {row["holds"] for row in lemmas.tours(100)}
