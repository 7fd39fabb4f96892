"""The experiment on optimality and growth of regret: tables against computation by hand, at tiny sizes."""

import numpy as np
import pytest
from test_spec import rows_of

from experiments import optimality
from experiments.comparisons import growth
from experiments.published.scenarios import TWO_STATES
from jaxbandit import Result
from jaxbandit.command_line.experiment import check_cases


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


@pytest.mark.parametrize("horizon", [100, 997, 1000, 2500, 10_000_000])
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


def test_lemmas_are_checked_instead(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(optimality.lemmas, "check", lambda seed: [{"lemma": "1a", "holds": f"seed {seed}"}])
    optimality.run(optimality.Settings(lemmas=True, seed=3, out=str(tmp_path)))
    assert rows_of(tmp_path / "lemmas.csv") == [{"lemma": "1a", "holds": "seed 3"}]
    assert "seed 3" in capsys.readouterr().out and not (tmp_path / "counts").exists()


@pytest.mark.slow
def test_what_is_planned_can_be_played():
    planned = optimality.cases(optimality.Settings())
    check_cases(planned)
    left_out = {*TWO_STATES, *optimality.OF_TWO_STATES}
    assert set(planned["scenario 1"]["policies"]) - set(planned["scenario 3"]["policies"]) <= left_out
