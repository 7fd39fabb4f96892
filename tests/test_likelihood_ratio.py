"""The likelihood-ratio test of independence, how often it and others are wrong, and propositions 5 and 6."""

import math
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from reference_kl import kl, lower, upper

from experiments.published import confidence_sums, independence_tests
from experiments.published.independence_tests import ARMS, TESTS
from jaxbandit.divergences import log_p_value


def test_p_value_against_the_loop():
    """Counts of 2 to 5 states, some never left, up to 3e6 transitions."""
    random = np.random.default_rng(4)
    for states in (2, 3, 5):
        law = random.dirichlet(np.ones(states))
        rows = 0.9 * law + 0.1 * random.dirichlet(np.ones(states), (90, states))
        sizes = np.repeat((1, 30, 3e6), 30)[:, None] * law
        counts = random.multinomial(sizes.round().astype(int), rows)
        counts[::10, 0] = 0
        expected = [reference.log_p_value(count) if sum(map(sum, count)) else 0 for count in counts.tolist()]
        np.testing.assert_allclose(jax.jit(log_p_value)(jnp.asarray(counts, jnp.int32)), expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.02, 0.98), (0.2, 0.3, 0.5), (0.01, 0.01, 0.98)])
def test_moment_generating_function_of_the_divergence_from_the_truth(law):
    """Step 2 by exact enumeration: E exp(x n KL) <= (1 - x)^-(S - 1) for up to 30 draws."""
    for n in (1, 2, 5, 12, 30):
        types = [count for count in product(range(n + 1), repeat=len(law)) if sum(count) == n]
        chance = [
            math.factorial(n) * math.prod(q**k / math.factorial(k) for q, k in zip(law, count)) for count in types
        ]
        ratio = [sum(k * math.log(k / n / q) for q, k in zip(law, count) if k) for count in types]
        for x in (0.1, 0.5, 0.9, 0.99):
            moment = sum(p * math.exp(x * g) for p, g in zip(chance, ratio, strict=True))
            assert moment <= (1 - x) ** (1 - len(law)) * (1 + 1e-12)


@pytest.mark.parametrize("arm", ["i.i.d., rare, 3 states", "far from it, 3 states"])
@pytest.mark.slow
def test_wrong_verdicts_against_exact_enumeration(arm, monkeypatch):
    """All paths of 7 plays in every round. 10 shares of 20,000 runs, 6.1 standard errors: false fails below 1e-7."""
    runs, plays, rows = 20_000, 7, ARMS[arm]
    monkeypatch.setattr(independence_tests, "ARMS", {arm: rows})
    monkeypatch.setattr(independence_tests, "POINTS", 2)
    shares = independence_tests.wrong_shares(jax.random.key(2), runs, plays + 1)[arm, "in every round"]
    exact = dict.fromkeys(TESTS, 0.0)
    for path in product(range(len(rows)), repeat=plays):
        counts, chance, state = np.zeros(rows.shape, int), 1.0, 0
        for following in path:
            chance, counts[state, following] = chance * rows[state, following], counts[state, following] + 1
            state = following
        for test, policy in TESTS.items():
            fields = reference.DEFAULTS["TVKLUCB"] | {"distance": policy.distance, "test": policy.test}
            exact[test] += chance * (reference.is_markovian(counts.tolist(), plays + 1, fields) == ("i.i.d." in arm))
    for test, share in shares.items():
        assert abs(share[-1] - exact[test]) <= 6.1 * math.sqrt(exact[test] * (1 - exact[test]) / runs) + 1e-7, test


def paths(mean, s):
    """All outcomes of s draws, with their probabilities."""
    for draws in product((0, 1), repeat=s):
        yield draws, math.prod(mean if draw else 1 - mean for draw in draws)


@pytest.mark.parametrize(("mean", "end"), [(0.5, 0.4), (0.3, 0.05), (0.3, 0.52)])
def test_sums_of_proposition_5_against_all_paths(mean, end):
    """With the bounds by bisection: the share of paths on which the bound stops short, and for some s <= t."""
    levels = [math.log1p(t * math.log(t) ** 2) for t in range(1, 10)]
    assert confidence_sums.log_f(np.arange(1, 10)) == pytest.approx(levels)

    def short(draws, level):
        s, share = len(draws), sum(draws) / len(draws)
        return upper(share, level / s) < end if end < mean else lower(share, level / s) > end

    samples = sum(p * short(draws, level) for s, level in enumerate(levels, 1) for draws, p in paths(mean, s))
    assert confidence_sums.sum_over_samples(mean, end, np.array(levels)) == pytest.approx(samples, rel=1e-12)
    rounds = sum(
        p * any(short(draws[:s], level) for s in range(1, t + 1))
        for t, level in enumerate(levels, 1)
        for draws, p in paths(mean, t)
    )
    assert confidence_sums.sum_over_rounds(mean, end, len(levels)) == pytest.approx(rounds, rel=1e-12)


def test_sums_of_proposition_6_against_loops():
    p1, q1, p2, q2, eps = 0.49, 0.4, 0.4, 0.55, 0.02
    w, m = p1 * (q2 - eps) / (q1 + eps), p1 / (p1 + q1 + eps)
    by_hand = {
        "6 (a)": kl(p2 + eps, w),
        "6 (b)": kl(q2 - eps, (q1 + eps) * (p2 + eps) / p1),
        "6 (c)": kl(p2 / (p2 + q2) + eps, m),
    }
    for part, distance in by_hand.items():
        assert confidence_sums.distances(part, eps) == pytest.approx(distance, rel=1e-12)
        counted = sum(distance <= 5.0 / s for s in range(3, 200))
        assert confidence_sums.number(distance, 5.0, 3, 199) == counted
    assert np.isnan(confidence_sums.distances("6 (a)", 0.2))
    exact = [
        sum(p for draws, p in paths(0.4, s) if min(kl(sum(draws) / s, z) for z in np.linspace(0.6, 1, 401)) <= 1.5 / s)
        for s in range(1, 9)
    ]
    np.testing.assert_allclose(confidence_sums.chances_close(0.4, 0.6, 1.5, 8), exact, rtol=1e-9)


def test_verdicts_on_proposition_6_and_on_dragomir():
    """It holds with one eps_1 and Z_2 >= 0; as printed parts (a) and (b) do not, nor (c) with a Z_2 of any sign."""
    rows = list(confidence_sums.proposition_6())
    for row in rows:
        printed = row["case"].endswith("least bound") and (row["proposition"] != "6 (c)" or "any sign" in row["case"])
        assert row["it"] == ("does not hold" if printed else "holds"), row
    assert len(rows) == 2 * 2 * 7 and confidence_sums.dragomir()["it"] == "holds"
    top = -math.log(0.999) / (0.001**2 / (0.999 * 0.001))  # of p = 1 and q = 0.999
    assert float(confidence_sums.dragomir()["sum"]) == pytest.approx(top, abs=1e-4)
