"""The experiments on optimality and on which policy pays where: tables against computation by hand, at tiny sizes."""

import csv
import dataclasses
import html

import numpy as np
import pytest

import jaxbandit
from experiments import families, front, optimality
from experiments.command_line.experiment import check_cases
from experiments.published.beside import TWO_STATES
from experiments.published.scenarios import environment, starts
from experiments.reports import growth
from experiments.reports.matrix import Matrix, draw
from jaxbandit import Result, atlas, bounds, chains, metrics

SMALL = {"KL-UCB-SM": jaxbandit.KLUCB(), "uniform": jaxbandit.Uniform()}


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def result_of(plays, times):
    """A result of one worse arm with gap 1/2, played `plays` [run, time] times."""
    plays, times = np.asarray(plays), np.asarray(times)
    visits = np.stack([times - plays, plays], -1)[None, None, :, :, :, None].astype(np.int32)
    means, reward = np.array([[1.0, 0.5]]), np.ones((1, 2, 1))
    horizon = int(times[-1])
    return Result(
        ("s",), times, {"a": visits}, means, reward, horizon=horizon, rounds=horizon, plays=1, fingerprint={}, carry={}
    )


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
    luck = np.random.default_rng(0).standard_normal((len(decades), 40))
    luck = (luck - luck.mean(1, keepdims=True)) / luck.std(1, keepdims=True)
    values = np.array([[mean] for mean, _ in decades]) + np.array([[spread] for _, spread in decades]) * luck
    return growth.verdict(growth.Growth(10 ** np.arange(1, len(decades) + 2), values), 13.0, linear)


def test_verdicts_say_what_was_measured():
    assert verdict_of((10, 1), (12.9, 1)) == "interval holds the constant, from below, rising"
    assert verdict_of((17, 1), (13.1, 1)) == "interval holds the constant, from above, falling"
    assert verdict_of((13, 1), (13, 1)) == "interval holds the constant, never apart from it, level"
    assert verdict_of((10, 1), (10, 1)) == "below, level"
    assert verdict_of((100, 10), (1000, 10), linear=7) == "above, rising, 7 of 40 runs linear"


def test_labels_are_moved_apart_in_order():
    heights = np.random.default_rng(1).uniform(0, 1, 30)
    placed = np.array(growth.spread(list(heights), 0.02))
    order = np.argsort(heights)
    assert (np.diff(placed[order]) > 0.02 - 1e-12).all()
    assert growth.spread([3.0, 1.0], 0.1) == [3.0, 1.0]


def test_optimality_writes_its_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(optimality, "PLAYED", SMALL)
    settings = optimality.Settings(runs=7, horizon=20_000, out=str(tmp_path))
    results = optimality.run(settings)
    assert [result.horizon for result in results.values()] == [20_000, 20_000, 2000]
    full = optimality.cases(dataclasses.replace(settings, full=True))
    assert list(full) == list(optimality.environments()) and {case["horizon"] for case in full.values()} == {20_000}
    rows = rows_of(tmp_path / "growth.csv")
    assert [row["environment"] for row in rows[::2]] == list(results) == ["i.i.d. arms", "scenario 1", "scenario 3"]
    assert rows[0]["bound"].endswith("(8.32)")
    assert float(rows[2]["bound"]) == pytest.approx(bounds.lower(environment("scenario 1")).total, abs=0.005)
    first = metrics.pseudo_regret(results["scenario 1"], "uniform")[0, 0]
    at = list(results["scenario 1"].times)
    grown = (first[:, at.index(20_000)] - first[:, at.index(2000)]) / np.log(10)
    assert rows[3]["2,000 to 20,000"].split(" ± ")[0] == f"{grown.mean():,.1f}"
    assert rows[3]["R / log t"].split(" ± ")[0] == f"{first[:, -1].mean() / np.log(20_000):,.1f}"
    assert rows[3]["growth in its last decade"] == "above, rising, 7 of 7 runs linear"
    assert rows[5]["2,000 to 20,000"] == "" and rows[5]["200 to 2,000"] != ""
    assert (tmp_path / "optimality.png").exists()
    with pytest.raises(ValueError, match="holds full = False"):
        optimality.run(optimality.Settings(runs=7, horizon=20_000, full=True, out=str(tmp_path)))
    capsys.readouterr()


def test_lemmas_are_checked_instead(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(optimality.lemmas, "check", lambda seed: [{"lemma": "1a", "holds": f"seed {seed}"}])
    optimality.run(optimality.Settings(lemmas=True, seed=3, out=str(tmp_path)))
    assert rows_of(tmp_path / "lemmas.csv") == [{"lemma": "1a", "holds": "seed 3"}]
    assert "seed 3" in capsys.readouterr().out and not (tmp_path / "counts").exists()


def test_slowed_arms_keep_their_means():
    first = environment("scenario 1")
    for name, scale in {"tenth": 0.1, "best20": [0.05, 1, 1, 1, 1], "best1000": [0.001, 1, 1, 1, 1]}.items():
        arms = atlas[name].make(initial_state="stationary")
        np.testing.assert_allclose(arms.means(), first.means(), rtol=1e-12)
        gaps = [chains.eigenvalue_gap(moves) for moves in arms.transition]
        whole = [chains.eigenvalue_gap(moves) for moves in first.transition]
        np.testing.assert_allclose(gaps, np.multiply(whole, scale), rtol=1e-9)
    for start, arms in starts(atlas["best20"].make).items():
        law = {"from state 0": [1, 0], "from state 1": [0, 1]}.get(start)
        expected = np.stack([1 - first.means(), first.means()], 1) if law is None else np.tile(law, (5, 1))
        np.testing.assert_allclose(arms.initial, expected, atol=1e-12)


def test_front_writes_its_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(front, "GROUPS", {"all": SMALL})
    settings = front.Settings(runs=20, horizon=60, out=str(tmp_path))
    rows = front.run(settings)
    assert len(rows) == 2 * (3 + 3 + 4 + 4 + 1 + 1 + 3 + 3 + 3)
    arms = starts(atlas["best20"].make)["from state 1"]
    alone = jaxbandit.simulate({"a": arms}, SMALL, runs=20, horizon=60, times=[30, 60])
    final = metrics.pseudo_regret(alone, "KL-UCB-SM")[0, 0, :, -1]
    (row,) = (r for r in rows if (r["environment"], r["start"], r["policy"]) == ("best20", "from state 1", "KL-UCB-SM"))
    assert row["mean"] == pytest.approx(final.mean()) and row["median"] == pytest.approx(np.median(final))
    assert row["linear share"] == metrics.linear_share(alone, "KL-UCB-SM")[0, 0]
    said = rows_of(tmp_path / "best20.csv")[0]["from state 1"]
    half = 2.093024 * final.std(ddof=1) / np.sqrt(20)  # Student's quantile of 19
    assert said.startswith(f"{final.mean():.1f} ± {half:.1f}")
    assert len(rows_of(tmp_path / "final.csv")) == len(rows) and len(rows_of(tmp_path / "worst.csv")) == 2
    page = (tmp_path / "report.html").read_text()
    printed = capsys.readouterr().out
    for sentence in front.in_words(front.matrix(rows)):
        assert sentence in printed and html.escape(sentence) in page
    assert "data:image/png" in page and (tmp_path / "front.png").exists()
    front.run(front.Settings(runs=21, horizon=60, out=str(tmp_path)))  # runs may grow
    capsys.readouterr()


def some_matrix():
    environments = [("scenario 1", "from state 0"), ("scenario 2", "from state 0"), ("best20", "from state 1")]
    mean = np.array([[10.0, 30.0, 900.0], [20.0, 60.0, 9.0]])
    return Matrix(["early", "late"], environments, mean, np.array([[0, 0.1, 0.8], [0, 0.2, 0]]))


def test_sentences_and_the_worst_of_a_policy():
    seen = some_matrix()
    least = "times the least mean regret"
    assert front.in_words(seen) == [
        f"In the paper's scenarios early is nearest to the best and pays up to 1.0 {least} (scenario 1, from state 0; "
        f"0.0% of its runs linear); beside them it pays up to 100.0 {least} (best20, from state 1; 80.0% of its runs "
        "linear).",
        f"Beside them late is nearest to the best and pays up to 1.0 {least} (best20, from state 1; 0.0% of its runs "
        f"linear); in the paper's scenarios it pays up to 2.0 {least} (scenario 1, from state 0; 0.0% of its runs "
        "linear).",
        f"In all environments together late is, and pays up to 2.0 {least} (scenario 1, from state 0; 0.0% of its runs "
        "linear).",
    ]
    early, late = front.worst_table(seen)
    assert early["beside them: times the least"] == "100.0 (best20, from state 1)"
    assert late["linear share in the paper's scenarios"] == "20.0% (scenario 2, from state 0)"


def test_picture_says_every_number():
    seen = some_matrix()
    figure = draw(front.parts(seen), {"a": 1, "b": 1})
    words = {text.get_text() for ax in figure.axes for text in ax.texts}
    assert {"10", "30\n10% linear", "900\n80% linear", "20", "60\n20% linear", "9", "×1.0", "×2.0", "×100"} <= words


def test_what_is_planned_can_be_played():
    left_out = {*TWO_STATES, *optimality.OF_TWO_STATES}
    for planned in (optimality.cases(optimality.Settings()), front.cases(front.Settings())):
        check_cases(planned)
        assert set(planned["scenario 1"]["policies"]) - set(planned["scenario 3"]["policies"]) <= left_out


def test_policies_that_do_not_play_an_environment_are_left_out():
    seen = some_matrix()
    seen.mean[0, 1] = seen.linear[0, 1] = np.nan
    early, late = front.worst_table(seen)
    assert early["in the paper's scenarios: times the least"] == "1.0 (scenario 1, from state 0)"
    assert late["in the paper's scenarios: times the least"] == "2.0 (scenario 1, from state 0)"
    words = {text.get_text() for ax in draw(front.parts(seen), {"a": 2}).axes for text in ax.texts}
    assert {"10", "60\n20% linear", "×100"} <= words and not any("nan" in word for word in words)


def test_families_write_their_folder(tmp_path, capsys, monkeypatch):
    """A row for every problem and policy, constants known from elsewhere, verdicts as the growth they stand beside."""
    small = {"KLUCB": jaxbandit.KLUCB(), "uniform": jaxbandit.Uniform()}
    monkeypatch.setattr(families, "policies", lambda problem: small)
    results = families.run(families.Settings(runs=5, horizon=2000, out=str(tmp_path)))
    rows = rows_of(tmp_path / "growth.csv")
    assert [row["problem"] for row in rows] == [name for name in results for _ in small]
    assert [row["family's bound"] for row in rows[::2]] == ["3.46", "5.57", "4.11", "6.53"]
    assert [row["all chains' bound"] != "" for row in rows[::2]] == [True, False, True, False]
    for row in rows[1::2]:  # uniform play gains a thousandfold of the constant in the last decade
        assert row["growth in the last decade"] == "above, rising, 5 of 5 runs linear"
    for name, result in results.items():
        assert result.plays == int(name[-1])
        growth_table = [row for row in rows if row["problem"] == name]
        regret = metrics.pseudo_regret(result, "KLUCB")[0, 0]
        at = [result.times.tolist().index(time) for time in (200, 2000)]
        expected = (regret[:, at[1]] - regret[:, at[0]]).mean() / np.log(10)
        assert float(growth_table[0]["200 to 2,000"].split()[0]) == pytest.approx(expected, abs=0.006)
    assert (tmp_path / "families.png").exists() and "5 runs to round 2,000" in capsys.readouterr().out


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
