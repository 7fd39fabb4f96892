"""The experiments on optimality and on which policy pays where: tables against computation by hand, at tiny sizes."""

import numpy as np
import pytest
from test_spec import rows_of

from experiments import families, front, optimality
from experiments.comparisons import growth
from experiments.comparisons.matrix import Matrix, draw
from experiments.published.scenarios import TWO_STATES, environment, starts
from jaxbandit import Result, atlas
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


def test_starts_are_every_state_and_the_stationary_law():
    means = environment("scenario 1").means()
    for start, arms in starts(atlas["best20"].make).items():
        law = {"from state 0": [1, 0], "from state 1": [0, 1]}.get(start)
        expected = np.stack([1 - means, means], 1) if law is None else np.tile(law, (5, 1))
        np.testing.assert_allclose(arms.initial, expected, atol=1e-12)


@pytest.mark.slow
def test_what_is_planned_can_be_played():
    left_out = {*TWO_STATES, *optimality.OF_TWO_STATES}
    for planned in (optimality.cases(optimality.Settings()), front.cases(front.Simulation())):
        check_cases(planned)
        assert set(planned["scenario 1"]["policies"]) - set(planned["scenario 3"]["policies"]) <= left_out


def test_the_worst_of_a_policy():
    """Of two parts of the environments; one in which a policy does not play does not count."""
    environments = [("scenario 1", "from state 0"), ("scenario 2", "from state 0"), ("best20", "from state 1")]
    mean = np.array([[10.0, np.nan, 900.0], [20.0, 60.0, 9.0]])
    seen = Matrix(["early", "late"], environments, mean, np.array([[0, np.nan, 0.8], [0, 0.2, 0]]))
    early, late = front.worst_table(seen)
    assert early["in the paper's scenarios: times the least"] == "1.0 (scenario 1, from state 0)"
    assert early["beside them: times the least"] == "100.0 (best20, from state 1)"
    assert late["in the paper's scenarios: times the least"] == "2.0 (scenario 1, from state 0)"
    words = {text.get_text() for ax in draw(front.parts(seen), {"a": 2}).axes for text in ax.texts}
    assert not any("nan" in word for word in words)


@pytest.mark.slow
def test_families_are_played_by_those_whom_they_are_for():
    played = {name: list(families.policies(problem)) for name, problem in families.problems().items()}
    both = ["KLUCB, family", "Moulos", "KLUCB", "TVKLUCB"]
    assert played == {
        "two-state family, M = 1": [*both, "IMED, family", "IMEDMC"],
        "two-state family, M = 2": both,
        "three-state family, M = 1": [*both, "IMED, family", "IMEDMC"],
        "three-state family, M = 2": both,
    }
    check_cases(families.cases(families.Settings()))
