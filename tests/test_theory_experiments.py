"""Experiments that set simulations beside theory: what they count and in which order, at tiny sizes."""

import csv

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

import jaxbandit
from experiments import ablation, asymptotic_bounds, concentration, initial_state, lower_bound
from experiments.command_line.options import Simulation
from experiments.published.propositions import CHAINS, bound, count_events
from experiments.published.scenarios import environment
from experiments.published.slow_arms import member
from experiments.reports.pictures import save
from jaxbandit import bounds, metrics
from jaxbandit.bounds.arms import TwoState


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_asymptotic_bounds(tmp_path):
    rows = asymptotic_bounds.run(asymptotic_bounds.Settings(out=str(tmp_path)))
    assert {path.name for path in tmp_path.iterdir()} == {
        "settings.json", "constants.csv", "asymptotic_bounds.png", "asymptotic_bounds.pdf",
    }  # fmt: skip
    assert [row["condition"] for row in rows] == ["holds"] * 4 + ["fails"] * 4
    arms = environment("scenario 1")
    assert rows[0]["TV-KL-UCB"] == bounds.upper_asymptotic(arms).total
    gaps = 5 / 9 - arms.means()[1:]
    assert rows[0]["UCB-SM, L = 360 / min sigma"] == pytest.approx(4 * 360 / 0.8 * np.sum(1 / gaps))
    assert all(row["ratio"] > 1000 for row in rows)
    np.testing.assert_allclose(member(0.01).means(), arms.means())


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


def test_concentration_writes_its_folder(tmp_path, capsys):
    settings = concentration.Settings(runs=50, horizon=60, out=str(tmp_path))
    sums = concentration.run(settings)
    assert set(sums) == set(CHAINS)
    assert all((np.diff(each, axis=0) >= 0).all() and each.max() <= 60 for each in sums.values())
    rows = rows_of(tmp_path / "concentration.csv")
    assert len(rows) == 5 * 12 + 2 * 10
    assert {row["it"] for row in rows} == {"nothing", ""}  # every bound is above 60 rounds, or the test counts later
    (slow,) = (row for row in rows if (row["chain"], row["event"], row["eps"]) == ("rare state", "test", "0.0975"))
    assert (slow["from round"], slow["simulated (95%)"]) == ("692", "not counted")
    fewer = {name: np.full((1, 50, 4, 3), 1e9) for name in CHAINS}
    judged = {(row["chain"], row["event"]): row["it"] for row in concentration.table(fewer, 1000)}
    assert judged["i.i.d., even", "test"] == "does not hold"
    judged = {(row["chain"], row["event"]): row["it"] for row in concentration.table(sums, 1000)}
    assert judged["i.i.d., even", "test"] == "holds"
    eps, most, part = bound(TwoState(0.1, 0.1), "estimate of p01", 1)
    z = np.exp(-2 * (0.1 * 0.2) ** 2)
    terms = np.arange(200_000.0)
    assert (eps, part) == (0.1, pytest.approx(100))
    assert most - part == pytest.approx(np.sum((terms + 2) ** 3 * z**terms), rel=1e-9)
    for bad, words in (
        ({"runs": 1}, "runs: 1"),
        ({"horizon": 2**31}, "horizon: 2147483648"),
        ({"seed": -1}, "seed: -1"),
    ):
        with pytest.raises(ValueError, match=words):
            concentration.run(concentration.Settings(**{"runs": 5, "horizon": 60, "out": str(tmp_path / "b")} | bad))
    assert not (tmp_path / "b").exists()
    capsys.readouterr()


def test_lower_bound_writes_its_folder(tmp_path, capsys, monkeypatch):
    few = {name: lower_bound.POLICIES[name] for name in ("UCB-SM", "TV-KL-UCB")}
    monkeypatch.setattr(lower_bound, "POLICIES", few)
    result = lower_bound.run(lower_bound.Settings(runs=4, horizon=200, out=str(tmp_path)))
    np.testing.assert_allclose(result.means, np.tile(environment("scenario 1").means(), (3, 1)))
    rows = rows_of(tmp_path / "growth.csv")
    assert [row["environment"] for row in rows[::2]] == list(lower_bound.environments())
    assert float(rows[2]["bound, all chains"]) == bounds.lower(environment("scenario 1")).total
    assert [row["bound, i.i.d. arms"] for row in rows] == ["8.3", "8.3", "", "", "", ""]
    assert (tmp_path / "lower_bound.png").exists() and "TV-KL-UCB" in capsys.readouterr().out


def test_initial_states_are_those_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(initial_state, "NAMES", ("scenario 2",))
    settings = Simulation(runs=40, horizon=60, out=str(tmp_path))
    (result,) = initial_state.run(settings).values()
    first = result.visits["UCB-SM"][:, 0, :, 4].argmax(-1)[
        ..., 1:
    ]  # after each arm's first play, all but the quick one
    assert (first[0] == 0).mean() > 0.99 and (first[1] == 1).mean() > 0.99
    assert 0.2 < first[2].mean() < 0.4  # stationary: the arms' means are 0.42, 0.32, 0.24, 0.13
    rows = rows_of(tmp_path / "claims.csv")
    assert [row["start"] for row in rows[::3]] == list(result.scenarios)
    final = metrics.pseudo_regret(result, "TV-KL-UCB")[2, 0, :, -1].mean()
    table = {(row["start"], row["policy"]): row for row in rows_of(tmp_path / "table.csv")}
    assert float(table["from the stationary law", "TV-KL-UCB"]["mean"]) == pytest.approx(final, rel=1e-12)
    assert (tmp_path / "initial_state_2.png").exists()
    capsys.readouterr()


def test_ablation_names_its_variants_right(tmp_path, capsys, monkeypatch):
    """Every choice's regret is that of a simulation of the policy it names."""
    monkeypatch.setattr(ablation, "SCENARIOS", {"scenario 1": ablation.SCENARIOS["scenario 1"]})
    monkeypatch.setattr(ablation, "DISTANCES", {"total_variation": "total variation", "kl": "KL"})
    monkeypatch.setattr(ablation, "SAMPLES", ("arm",))
    monkeypatch.setattr(ablation, "draw", lambda *_: ())
    found = ablation.run(ablation.Settings(runs=20, horizon=300, out=str(tmp_path)))
    assert len(found) == 2 * 2 * 6 and sum(choice.is_paper for choice in found) == 1
    numbers = {short: value for value, short in ablation.SHORT.items()}
    for choice in found[::9]:
        policy = jaxbandit.TVKLUCB(
            exploration=numbers[choice.exploration], unvisited=choice.unvisited, samples=choice.samples,
            clock=choice.clock, distance="kl" if choice.distance == "KL" else "total_variation",
        )  # fmt: skip
        alone = jaxbandit.simulate(environment("scenario 1"), {"a": policy}, runs=20, horizon=300)
        np.testing.assert_array_equal(choice.regret, metrics.pseudo_regret(alone, "a")[0, 0, :, -1])
    rows = rows_of(tmp_path / "ablation.csv")
    assert len(rows) == len(found) and float(rows[0]["minus the paper's"]) == 0
    best = rows_of(tmp_path / "highlights.csv")
    assert [row["choice"] for row in best] == ["the paper's", "least mean", "least median"]
    assert float(best[1]["mean"]) == min(float(row["mean"]) for row in rows)
    capsys.readouterr()


def test_heat_maps_of_the_ablation(tmp_path):
    choices = [
        ablation.Choice(scenario, s, c, d, u, ablation.SHORT[e], np.array([1.0, 2.0]), 0.0)
        for scenario in ablation.SCENARIOS
        for s in ablation.SAMPLES
        for c in ablation.CLOCKS
        for d in ablation.DISTANCES.values()
        for e in ablation.EXPLORATION
        for u in ablation.UNVISITED
    ]
    for name, figure in ablation.draw(choices, ablation.Settings()):
        save(figure, tmp_path / name)
    assert {path.name for path in tmp_path.glob("*.png")} == {"ablation_median.png", "ablation_mean.png"}
