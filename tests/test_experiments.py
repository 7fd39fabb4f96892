"""The experiments from the shell: tables, files, refusals before the work starts, continuation."""

import ast
import dataclasses
import json
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import benchmark, own_policy
from experiments.published.comparison import Settings, compare_policies
from experiments.timing import axes, calls
from jaxbandit.command_line.experiment import begin, check_cases
from jaxbandit.command_line.options import from_command_line
from jaxbandit.reports import pictures
from jaxbandit.reports.tables import show

ROOT = Path(__file__).parent.parent
TEXTS = {path.stem: path.read_text() for path in sorted((ROOT / "experiments").glob("[a-z]*.py"))}
# those with a plan that is not checked beside its tables
PLANNED = [name for name, text in TEXTS.items() if "\ndef cases(" in text and name != "optimality"]


def test_a_folder_holds_one_experiment_with_one_set_of_settings(tmp_path):
    settings = Settings(runs=8, horizon=200, out=str(tmp_path / "a"))
    with pytest.raises(ValueError, match="initial_state: 7"):
        compare_policies("scenario 1", dataclasses.replace(settings, initial_state=7))
    with pytest.raises(ValueError, match="^policies: "):
        begin("scenario1", settings, {"": {"scenarios": jaxbandit.bernoulli([0.5, 0.4]), "policies": {}}})
    assert not (tmp_path / "a").exists()
    assert begin("scenario1", settings, {}) == begin("scenario1", settings, {}) == tmp_path / "a"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").touch()
    for name, changed, words in (
        ("scenario2", {}, "holds experiment = 'scenario1'"),
        ("scenario1", {"runs": 9}, "holds runs = 8, this is 9"),
        ("scenario1", {"out": str(tmp_path / "b")}, "holds files of something else"),
        ("scenario1", {"out": str(tmp_path / "b" / "thesis.tex")}, "cannot be written"),
        ("scenario1", {"out": "/proc/no/such"}, "cannot be written"),
    ):
        with pytest.raises(ValueError, match=f"^--out .*: {words}"):
            begin(name, dataclasses.replace(settings, **changed), {})


@pytest.mark.slow
def test_a_command_that_was_killed_continues(tmp_path, monkeypatch, capsys):
    """What is played already is not played again; that no round is lost, and Ctrl-C, are tested with sweeps."""
    settings = Settings(runs=20, horizon=500, out=str(tmp_path))
    result = compare_policies("scenario 1", settings)
    files = {path.name for path in tmp_path.iterdir()}
    assert {"result.npz", "table.csv", "paired.csv", "claims.csv", "regret.png", "plays.pdf"} <= files
    (tmp_path / "counts" / ".running").write_text("process 7 on a machine")  # as a killed process leaves it
    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)
    again = compare_policies("scenario 1", settings)
    np.testing.assert_equal(again.visits, result.visits)
    said = capsys.readouterr()
    assert "continuing" in said.out and "process 7 on a machine was killed; taken over" in said.err


def test_the_commands_are_listed(monkeypatch, capsys):
    """By `python -m experiments`, each with the first line of its docstring, no wider than the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["experiments"])
    runpy.run_module("experiments", run_name="__main__")
    listed = capsys.readouterr().out
    assert max(map(len, listed.splitlines())) <= 80
    for name, text in TEXTS.items():
        first = ast.get_docstring(ast.parse(text)).splitlines()[0]
        assert f" {name} {first} " in " ".join(listed.split()) + " "


def settings_of(name):
    """The class of a command's settings."""
    (said,) = re.findall(r"^    main\(.*, (\w+), \"\w+\", .*\)$", TEXTS[name], re.MULTILINE)
    return vars(import_module(f"experiments.{name}"))[said]


@pytest.mark.parametrize("name", TEXTS)
def test_every_command_has_a_command_line(name):
    """It takes `--quick`, whose numbers are among the options, and `--out`."""
    settings = settings_of(name)
    assert settings.QUICK.items() <= dataclasses.asdict(quick := settings(quick=True)).items()
    assert "out" in vars(quick) or name == "own_policy"
    with pytest.raises(ValueError, match="^--quick: "):
        settings(runs=7, quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANNED)
def test_what_a_command_plans_can_be_played(name, monkeypatch):
    """With the numbers of `--quick`; of cases that differ in the number of arms and in values alone, one."""
    monkeypatch.setattr("experiments.bayes.DISCOUNTS", (0.9,))  # index tables of the other one take ten seconds
    planned = import_module(f"experiments.{name}").cases(settings_of(name)(quick=True))
    kinds = {}
    for case in [case for _, _, case in planned] if name == "benchmark" else planned.values():
        arms = case["scenarios"]
        leaves, structure = jax.tree.flatten(next(iter(arms.values())) if isinstance(arms, dict) else arms)
        kinds.setdefault(f"{[*case['policies']]} {[np.shape(leaf)[1:] for leaf in leaves]} {structure}", case)
    check_cases(kinds)


def test_the_command_line(capsys):
    """Whole numbers as one writes them, a state, what is wrong with an option, and `--help` of all."""
    for text, number in (("1e4", 10_000), ("10_000", 10_000), ("2.5e3", 2500)):
        assert from_command_line(Settings, "x", "", ["--horizon", text]).horizon == number
    settings = from_command_line(Settings, "x", "", ["--runs", "7", "--initial-state", "stationary", "--shuffle"])
    assert settings == Settings(runs=7, initial_state="stationary", shuffle=True)
    assert from_command_line(Settings, "x", "", ["--initial-state", "1"]).initial_state == 1
    for option, text in (("--horizon", "1.5"), ("--runs", "many"), ("--runs", "inf"), ("--initial-state", "foo")):
        with pytest.raises(SystemExit):
            from_command_line(Settings, "x", "", [option, text])
        assert f"argument {option}: '{text}' is not a" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        from_command_line(Settings, "x", "", ["--version"])
    assert capsys.readouterr().out == f"jaxbandit {jaxbandit.__version__}\n"
    with pytest.raises(SystemExit):
        from_command_line(Settings, "x", "Heavy tails.", ["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(words in said for words in ("--runs", "--initial-state", "(default: 100000)", "Heavy tails."))


def test_pictures_write_numbers_alike(tmp_path):
    """On logarithmic axes and others, whoever drew them; what has words of its own keeps them."""
    figure, (left, right) = pictures.panels(1, 2)
    left.plot([1, 10, 1e5], [1, 2000, 4000])
    left.set_xscale("log")
    right.plot([1, 2], [1, 1e4])
    right.set_xticks([1, 2], ["one", "two"])
    pictures.save(figure, tmp_path / "a.b")
    texts = [[text.get_text() for text in ax.xaxis.get_ticklabels()] for ax in (left, right)]
    assert "100,000" in texts[0] and texts[1] == ["one", "two"]
    assert {path.name for path in tmp_path.iterdir()} == {"a.b.png", "a.b.pdf"}
    fonts = (tmp_path / "a.b.pdf").read_bytes()
    assert b"/Type3" not in fonts and b"/FontFile2" in fonts  # journals refuse fonts of type 3


@pytest.mark.parametrize("width", [30, 60, 200])
def test_tables_fit_the_terminal(width):
    """The first columns are shown, the others named with the file that has them, and words are never broken."""
    rest = {"mean": 0.5, "undecided": "by nobody", "sum": 1e15}
    view = show([{"claim": f"policy {n} beats all others"} | rest for n in (1, 2)], width, "claims.csv")
    assert max(map(len, view.splitlines())) <= width
    table, _, named = view.partition("\nNot shown: ")
    words = set("claim mean undecided policy 1 2 beats all others 0.5 by nobody".split())
    words |= {"sum", "1,000,000,000,000,000.0"} if width > 30 else set()
    assert set(table.replace("-", "").split()) == words
    assert " ".join(named.split()) == ("" if width > 30 else "sum (all are in claims.csv)")


@pytest.mark.slow
def test_own_policy_is_checked_and_runs(capsys):
    result = own_policy.compare(5, 200)
    assert result.visits["greedy"].shape[:3] == (1, 3, 5) and "greedy" in capsys.readouterr().out
    plays = own_policy.live(100)
    assert sum(plays) == 100 and len(plays) == 3


@pytest.mark.slow
def test_benchmark_measures_and_compares(tmp_path, monkeypatch):
    """Beside a loop of half a million rounds a second, and with a file in which one row was faster."""
    monkeypatch.setattr(benchmark, "scalar_rate", lambda: 0.5)
    played = {"policy": "UCBSM", "on demand": "TV-KL-UCB eight states, 50 rounds"}
    chosen = {axis: ((value,), axes.AXES[axis][1]) for axis, value in played.items()}
    monkeypatch.setattr(benchmark, "AXES", chosen)
    rows = benchmark.measure(benchmark.Settings(runs=10, seconds=0.02, out=str(tmp_path)))
    assert [row["name"] for row in rows] == [f"{axis} {value}" for axis, value in played.items()]
    assert all(row["rate"] > 0 and row["ratio"] == row["rate"] / 0.5 and row["peak_megabytes"] > 50 for row in rows)
    assert [row["share"] is None for row in rows] == [True, False] and 0 < rows[1]["share"] < 1
    file = tmp_path / "benchmark.json"
    written = json.loads(file.read_text())
    assert written["scalar"] == 0.5 and written["rows"] == rows
    assert benchmark.compare(benchmark.read(str(file)), rows) == []
    for row in written["rows"]:
        row["ratio"] *= 1e6 if row["axis"] == "policy" else 1e-6
    file.write_text(json.dumps(written))
    some = benchmark.Settings(runs=10, seconds=0.02, out=str(tmp_path / "b"), check=str(file), axes="policy")
    with pytest.raises(SystemExit, match="policy UCBSM$"):
        benchmark.measure(some)
    assert (tmp_path / "b" / "benchmark.json").exists()  # what was measured is kept


def test_the_axes_of_the_benchmark(tmp_path):
    """With so many runs, policies and rounds as a row says; without the longest games, as they are not asked for."""
    (tmp_path / "x.json").write_text('{"rows": 3}')
    files = [("check", str(tmp_path / name)) for name in ("none.json", "x.json")]
    for option, wrong in [("runs", 0), ("policies", "X"), ("axes", "speed"), *files]:
        with pytest.raises(ValueError, match=f"^--{option}"):
            benchmark.measure(benchmark.Settings(**{"axes": "runs"} | {option: wrong}))  # before anything is timed
    some = benchmark.Settings(policies="IMED", runs=7, axes="policy, runs, variants, on demand")
    played = {f"{axis} {value}": case for axis, value, case in benchmark.cases(some)}
    assert len(played) == 1 + 5 + 3 + 6
    assert played["policy IMED"]["policies"] == {"": [jaxbandit.IMED()]} and played["policy IMED"]["runs"] == 7
    assert played["runs 100"]["runs"] == 100 and len(played["variants 16"]["policies"][""]) == 16


@pytest.mark.slow
def test_the_benchmark_of_calls_and_fits(capsys):
    """All kinds of calls and both kinds of fit are timed."""
    rows = benchmark.timed("seconds", calls.calls(cases=3, repeats=2))
    assert [row["name"] for row in rows][-2:] == ["a sweep of 3 cases", "the same, all done"]
    rows += benchmark.timed("seconds", calls.fits(subjects=2, by_loop=1, rounds=10))
    printed = capsys.readouterr().out
    assert len(rows) == 7 and all(row["seconds"] > 0 and row["name"] in printed for row in rows)


@pytest.mark.slow
def test_the_benchmark_of_first_answers_times_fresh_processes(tmp_path, monkeypatch):
    """A cache in the environment is not used: something is compiled, and a second call compiles nothing."""
    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path / "cache"))
    chosen = {name: calls.FIRST[name] for name in ("jit UCB1, 2 states", "UCB1")}
    monkeypatch.setattr(calls, "FIRST", chosen)
    yardstick, row = benchmark.measure(benchmark.Settings(first=True, out=str(tmp_path)))
    assert not (tmp_path / "cache").exists()
    for item in (yardstick, row):
        assert min(item["trace"], item["lower"], item["compile"]) > 0 and item["call"] > item["again"]
    assert yardstick["ratio"] == 1 and row["ratio"] == row["call"] / yardstick["call"]
    assert json.loads((tmp_path / "first.json").read_text())["rows"] == [yardstick, row]
