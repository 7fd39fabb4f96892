"""Experiments that set simulations beside theory: what they count and in which order, at tiny sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

import jaxbandit
from experiments import ablation, concentration
from experiments.published import slow_arms
from experiments.published.propositions import CHAINS, bound, count_events
from experiments.published.scenarios import environment
from jaxbandit import bounds, metrics
from jaxbandit.bounds.arms import TwoState


def test_asymptotic_bounds():
    rows = slow_arms.constants(np.array([1.0, 1e-6]))
    assert [row["condition"] for row in rows] == ["holds", "fails"]
    arms = environment("scenario 1")
    gaps = 5 / 9 - arms.means()[1:]
    assert rows[0]["TV-KL-UCB"] == bounds.upper_asymptotic(arms).total
    assert rows[0]["UCB-SM, L = 360 / min sigma"] == pytest.approx(4 * 360 / 0.8 * np.sum(1 / gaps))
    np.testing.assert_allclose(slow_arms.member(0.01).means(), arms.means())


def events_by_hand(states, p01, p10, eps, start):
    """Rounds with each event, from the states seen in each round; departures are counted, so the last state is not."""
    counts, total = np.zeros((2, 2)), np.zeros((4, len(eps)), int)
    leave, law = np.array([p01, p10]), p10 / (p01 + p10)
    for t in range(1, len(states) + 1):
        left = counts.sum(1)
        estimate = [counts[s, 1 - s] / left[s] if left[s] else 1.0 for s in (0, 1)]
        for e, far in enumerate(eps):
            far += 1e-9  # rounding must not decide where a ratio is eps away exactly
            total[0, e] += t == 1 or abs(left[0] / (t - 1) - law) > far
            for s in (0, 1):
                total[1 + s, e] += abs(estimate[s] - leave[s]) > far
            distance = abs(sum(estimate) - 1)
            if abs(p01 + p10 - 1) < 1e-6:
                total[3, e] += distance >= t**-0.25 - 1e-9 and t >= start[e]
            else:
                total[3, e] += distance < t**-0.25 - 1e-9 and t >= start[e]
        if t < len(states):
            counts[states[t - 1], states[t]] += 1
    return total


@pytest.mark.parametrize(("p01", "p10"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0)])
def test_events_of_chains_without_chance(p01, p10):
    arm, rounds = TwoState(p01, p10), 30
    moves = {0: int(p01), 1: 1 - int(p10)}
    states = [0]
    while len(states) < rounds:
        states.append(moves[states[-1]])
    eps, start = np.array([0.03, 0.11, 0.4]), np.array([1, 5, 20])
    played = count_events(
        jax.random.key(0), TwoState(*map(jnp.float32, arm)), jnp.asarray(eps), jnp.asarray(start),
        jnp.array([1, 7, rounds], jnp.int32), runs=2,
    )  # fmt: skip
    assert played.shape == (3, 2, 4, 3)
    np.testing.assert_array_equal(played[-1, 0], events_by_hand(states, p01, p10, eps, start))
    np.testing.assert_array_equal(played[1, 1], events_by_hand(states[:7], p01, p10, eps, start))


def test_share_of_visits_of_an_even_coin_is_binomial():
    """False-fail rate 1e-9 (6.1 standard errors of 20,000 runs); sees a mean off by 4 % in half of all cases."""
    n, eps = 100, 0.1
    exact = 2.0  # t = 1 without an estimate, t = 2 with the first state, 0
    for t in range(3, n + 1):
        zeros = 1 + np.arange(t - 1)
        exact += binom.pmf(zeros - 1, t - 2, 0.5)[np.abs(zeros / (t - 1) - 0.5) > eps + 1e-9].sum()
    key, arm = jax.random.key(3), TwoState(jnp.float32(0.5), jnp.float32(0.5))
    played = count_events(key, arm, jnp.array([eps]), jnp.ones(1), jnp.array([n], jnp.int32), runs=20_000)
    seen = np.asarray(played[-1, :, 0, 0], float)
    assert abs(seen.mean() - exact) < 6.1 * seen.std() / np.sqrt(len(seen))


def test_bounds_of_the_propositions_beside_what_was_counted(tmp_path):
    counted = {name: np.full((1, 50, 4, 3), 1e9) for name in CHAINS}
    rows = concentration.table(counted, 1000)
    judged = {(row["chain"], row["event"]): row["it"] for row in rows}
    assert len(rows) == 5 * 12 + 2 * 10 and judged["i.i.d., even", "test"] == "does not hold"
    eps, most, part = bound(TwoState(0.1, 0.1), "estimate of p01", 1)
    z = np.exp(-2 * (0.1 * 0.2) ** 2)
    terms = np.arange(200_000.0)
    assert (eps, part) == (0.1, pytest.approx(100))
    assert most - part == pytest.approx(np.sum((terms + 2) ** 3 * z**terms), rel=1e-9)
    for bad in ({"runs": 1}, {"horizon": 2**31}, {"seed": -1}):
        with pytest.raises(ValueError, match=f"^{next(iter(bad))}: "):
            concentration.run(concentration.Settings(**{"runs": 5, "horizon": 60, "out": str(tmp_path / "b")} | bad))
    assert not (tmp_path / "b").exists()


def test_ablation_names_its_variants_right(monkeypatch):
    """Every choice's regret is that of a simulation of the policy it names."""
    monkeypatch.setattr(ablation, "SCENARIOS", {"scenario 1": ablation.SCENARIOS["scenario 1"]})
    monkeypatch.setattr(ablation, "DISTANCES", {"total_variation": "total variation", "kl": "KL"})
    monkeypatch.setattr(ablation, "SAMPLES", ("arm",))
    planned = ablation.cases(ablation.Settings(runs=20, horizon=300))
    result = list(ablation.choices({name: jaxbandit.simulate(**case) for name, case in planned.items()}))
    assert len(result) == 2 * 2 * 6 and sum(choice.is_paper for choice in result) == 1
    numbers = {short: value for value, short in ablation.SHORT.items()}
    for choice in result[::9]:
        policy = jaxbandit.TVKLUCB(
            exploration=numbers[choice.exploration], unvisited=choice.unvisited, samples=choice.samples,
            clock=choice.clock, distance="kl" if choice.distance == "KL" else "total_variation",
        )  # fmt: skip
        alone = jaxbandit.simulate(environment("scenario 1"), {"a": policy}, runs=20, horizon=300)
        np.testing.assert_array_equal(choice.regret, metrics.pseudo_regret(alone, "a")[0, 0, :, -1])
    first, *_ = rows = ablation.table(result)
    assert first["minus the paper's"] == 0
    best = ablation.highlights(result, rows)
    assert best[1]["mean"] == min(row["mean"] for row in rows)
