"""Growth of regret beside the lower bound, by hand; the checks of docs/optimality.md against brute force."""

from itertools import product

import numpy as np
import pytest

from experiments import optimality
from experiments.comparisons import growth, lemmas
from experiments.comparisons.lemmas import ARMS, Chain, likelihood_ratio, log_probability, types
from jaxbandit import Result, bounds, chains, two_state
from jaxbandit.command_line.experiment import check_cases


def test_law_of_types_against_all_trajectories():
    chain = Chain(0.3, 0.6)
    move = np.array([[1 - chain.p01, chain.p01], [chain.p10, 1 - chain.p10]])
    for plays in range(1, 8):
        law = {}
        for path in product((0, 1), repeat=plays):
            moves = np.zeros((2, 2), int)
            np.add.at(moves, ([0, *path[:-1]], path), 1)
            law[tuple(moves.ravel())] = law.get(tuple(moves.ravel()), 0) + np.prod(move**moves)
        counts = types(plays)
        result = dict(zip(zip(*counts.tolist(), strict=True), np.exp(log_probability(counts, chain)), strict=True))
        assert set(result) == set(law)
        assert all(result[n] == pytest.approx(law[n]) for n in law)


def test_information_is_that_of_the_lower_bound():
    """J of the flow at the best arm's mean is what `bounds.lower` finds by another way, and certifies."""
    lower = bounds.lower(two_state(*np.transpose(ARMS)))
    for k in (1, 2):
        information = float(likelihood_ratio(ARMS[k].flow, ARMS[0].mean))
        assert (ARMS[0].mean - ARMS[k].mean) / information == pytest.approx(lower.per_arm[k], rel=1e-9)


@pytest.mark.slow
def test_rows_of_the_checks_hold():
    rows = lemmas.check(longest=100)
    assert {row["lemma"] for row in rows} == {"1a", "1b", "3", "7", "8", "(2)", "9", "11"}
    assert [row for row in rows if row["holds"] != "yes"] == []


def test_line_of_types_obeys_the_conditions_of_a_maximum():
    """Likelihood grows along the line as the range of relative values does, by numerical derivatives; flows balance."""
    states, generator = 3, np.random.default_rng(3)
    chain, reward = generator.dirichlet(np.full(states, 2.0), states), generator.random(states)
    begin, along = lemmas.line_of_types(chain, reward)
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
    """Three times the likelihood ratio, one tour too few."""
    monkeypatch.setattr(lemmas, "likelihood_ratio", lambda counts, mean: 3 * likelihood_ratio(counts, mean))
    assert "no" in {row["holds"] for row in lemmas.best_arm(100) if row["lemma"] == "7"}
    monkeypatch.setattr(lemmas, "CONSTANT", 0)
    assert "no" in {row["holds"] for row in lemmas.bad_arm(ARMS[1], 100) if row["lemma"] == "9"}


def result_of(plays, times):
    """A result of one worse arm with gap 1/2, played `plays` [run, time] times."""
    plays, times = np.asarray(plays), np.asarray(times)
    visits = np.stack([times - plays, plays], -1)[None, None, :, :, :, None].astype(np.int32)
    means, reward = np.array([[1.0, 0.5]]), np.ones((1, 2, 1))
    sizes = {"horizon": int(times[-1]), "rounds": int(times[-1]), "plays": 1}
    return Result(("s",), times, {"a": visits}, means, reward, **sizes, fingerprint={}, carry={})


def test_growth_of_regret_per_log():
    grown = growth.growth_of(result_of([[5, 50, 70, 120], [6, 6, 8, 10]], [10, 100, 500, 1000]), "a")
    np.testing.assert_array_equal(grown.times, [10, 100, 1000])
    assert grown.values == pytest.approx(0.5 * np.array([[45, 0], [70, 4]]) / np.log(10))
    with pytest.raises(ValueError, match="result: its times lack"):
        growth.growth_of(result_of([[5, 50, 120]], [10, 500, 1000]), "a")


@pytest.mark.parametrize("horizon", [100, 997, 2500])
def test_recorded_rounds_hold_decades_and_the_middle(horizon):
    times = growth.times(horizon)
    assert times == sorted(set(times)) and times[0] >= 1 and times[-1] == horizon
    assert {*growth.decades(horizon), horizon // 2} <= set(times)


def verdict_of(*decades, linear=0):
    """Of decades given as mean and spread of 40 runs whose last two decades do not go together."""
    spread_out = np.random.default_rng(0).standard_normal((len(decades), 40))
    spread_out = (spread_out - spread_out.mean(1, keepdims=True)) / spread_out.std(1, keepdims=True)
    values = np.array([[mean] for mean, _ in decades]) + np.array([[spread] for _, spread in decades]) * spread_out
    return growth.verdict(growth.Growth(10 ** np.arange(1, len(decades) + 2), values), 13.0, linear)


@pytest.mark.parametrize(
    ("decades", "linear", "words"),
    [
        (((10, 1), (12.9, 1)), 0, ("from below", "rising")),
        (((17, 1), (13.1, 1)), 0, ("from above", "falling")),
        (((13, 1), (13, 1)), 0, ("never apart", "level")),
        (((10, 1), (10, 1)), 0, ("below", "level")),
        (((100, 10), (1000, 10)), 7, ("above", "rising", "7 of 40 runs linear")),
    ],
)
def test_verdicts_say_what_was_measured(decades, linear, words):
    assert all(word in verdict_of(*decades, linear=linear) for word in words)


@pytest.mark.slow
def test_what_is_planned_can_be_played():
    planned = optimality.cases(optimality.Settings())
    check_cases(planned)
    few = {"JointKLUCB, log t", "IMED-MC, T^-1/2", *optimality.OF_TWO_STATES}
    assert set(planned["scenario 1"]["policies"]) - set(planned["scenario 3"]["policies"]) <= few
