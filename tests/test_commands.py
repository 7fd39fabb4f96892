"""Commands: what `jaxbandit` lists, looks up and refuses, a stress test and sweeps in TOML as a whole, and examples."""

import csv
import dataclasses
import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, UCB1, UCBV, metrics, stress
from jaxbandit.command_line.grids.toml_file import read
from jaxbandit.commands import atlas, entry, policies, sweep

ROOT = Path(__file__).parent.parent
GOOD = """
runs = 4
horizon = 200
seed = 3
shuffle = true
[scenarios.two]
environment = "two_state"
p01 = [0.5, 0.4]
p10 = [0.4, 0.55]
initial_state = "stationary"
[scenarios.chance]
environment = "random"
seed = 1
arms = 2
[policies.v]
policy = "UCBV"
zeta = [1, 1.5, 3]
c = [1, 2]
[policies.kl]
policy = "KLUCB"
exploration = ["none", 0]
clock = "arm"
[policies.ucb]
policy = "UCB1"
bonus = [0.5, 2.0]
"""


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.fixture
def call(monkeypatch, capsys):
    """Calls the command; returns how it ended, and what it printed on both streams."""
    monkeypatch.setattr("jaxbandit.command_line.options.use_all_cores", lambda: None)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*arguments):
        code = 0
        try:
            entry.main(list(arguments))
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return called


def test_help_and_version(call):
    """No line is wider than the terminal, and every command and option is explained."""
    assert call("--version") == call("tune", "--version") == (0, f"jaxbandit {jaxbandit.__version__}\n", "")
    code, listed, _ = call()
    assert code == 0 and all(f"\n{name} " in listed for name in entry.COMMANDS)
    for name in entry.COMMANDS:
        code, said, _ = call(name, "--help")
        assert code == 0 and f"usage: jaxbandit {name} " in said and max(map(len, said.splitlines())) <= 80
        assert all(field.metadata["help"] for field in dataclasses.fields(entry.module_of(name).Settings))
    files = {path.stem for path in (ROOT / "jaxbandit" / "commands").glob("*.py")}
    assert files == {*entry.COMMANDS, "__init__", "entry"}


def test_what_is_wrong_is_named_with_what_is_like_it(call, monkeypatch):
    """Ends with 2 for what was asked wrongly, with 1 for what failed, with 130 for Ctrl-C."""
    for arguments, words in (
        (["juge", "KLUCB"], "NAME: there is no 'juge' (did you mean judge?); there are judge, stress, "),
        (["--vresion"], "there is no '--vresion'"),
        (["judge", "KLUCB", "--rnus=7"], "options: there is no '--rnus' (did you mean --runs?); there are --help, "),
        (["sweep", "a.toml", "b.toml"], "'b.toml': not one more is taken"),
        (["stress"], "the following arguments are required: POLICY"),
        (["stress", "KLUBC"], "stress: jaxbandit has no 'KLUBC' (did you mean KLUCB?); it has "),
        (["stress", "KLUCB", "--horizon", "1.5"], "argument --horizon: '1.5' is not a whole number"),
        (["stress", "PSRL"], "--space: PSRL() does not play any space of problems that there is: "),
        (["tune", "--policy", "KLUBC"], "--policy: there is no 'KLUBC' (did you mean KLUCB?); there are "),
        (["tune", "--scenarios", "scenario 1, scenario1"], "--scenarios: there is no 'scenario1' (did you mean "),
        (["atlas", "scenario1"], "'scenario1' (did you mean scenario 1?); jaxbandit atlas lists all"),
        (["atlas", "nosuch"], "no problem is called 'nosuch'; jaxbandit atlas lists all"),
        (["policies", "klucb"], "NAME: there is no 'klucb' (did you mean KLUCB?)"),
    ):
        code, printed, complaint = call(*arguments)
        assert (code, printed) == (2, "") and words in complaint and "Traceback" not in complaint
    for error, code in ((OSError("disk full"), 1), (ImportError("no cmaes"), 1), (KeyboardInterrupt(), 130)):
        monkeypatch.setattr(policies, "run", lambda settings, error=error: (_ for _ in ()).throw(error))
        assert call("policies")[0] == code


def test_every_named_problem_is_told(call):
    """With code that makes the arms, the public function's call as well as the atlas's."""
    code, listed, _ = call("atlas")
    assert code == 0 and max(map(len, listed.splitlines())) <= 80
    public = 0
    for name, problem in jaxbandit.atlas.items():
        assert f"\n{name} " in listed
        lines = atlas.code_of(problem)
        assert lines[:2] == ["import jaxbandit", f"arms = jaxbandit.atlas[{name!r}].arms"]
        if len(lines) > 2 and public < 4:
            made = eval(lines[2].removeprefix("arms = "), {"jaxbandit": jaxbandit, "array": np.array})
            jax.tree.map(np.testing.assert_array_equal, made, problem.arms)
            public += 1
    assert public == 4
    code, told, _ = call("atlas", "Garivier", "and", "Moulines")
    assert code == 0 and told.startswith("Garivier and Moulines\n\nwhat for  ") and "with_horizon(n)" in told


def test_every_policy_is_told(call):
    code, listed, _ = call("policies")
    assert code == 0 and max(map(len, listed.splitlines())) <= 80
    for name, policy in policies.CLASSES.items():
        assert f"\n{name} " in listed
        told = policies.one(name)
        assert " ".join(inspect.getdoc(policy).split()) in " ".join(told.split())
        assert all(f"\n{field.name} " in told for field in dataclasses.fields(policy))
        assert max(map(len, told.partition("\n>>> ")[0].splitlines())) <= 80
    assert "\n  exponent: " in call("policies", "IMEDMC")[1]


@pytest.mark.slow
def test_the_command_in_a_process():
    """As `python -m jaxbandit`; what reads no more, as `head` does, is no error that is told."""
    command = f"{sys.executable} -m jaxbandit atlas | head -n 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("Rested\n", "")


@pytest.mark.slow
def test_a_log_is_evaluated(call, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("round,item,click,p\n" + "".join(f"{t},{'ab'[t % 2]},{t % 3 % 2},0.5\n" for t in range(1, 601)))
    columns = ["--columns", "arm=item, reward=click, probability=p"]
    code, printed, complaint = call("evaluate", str(log), "a", "uniform", "UCB1", "--replay", *columns)
    assert (code, complaint) == (0, "") and max(map(len, printed.splitlines())) <= 80
    assert all(f"\n{label}\n  IPS  " in printed for label in ("a", "uniform", "UCB1()"))
    for wrong, words in (
        (["a"], "no columns 'arm' in ['round', 'item', 'click', 'p']"),
        (["c", *columns], "jaxbandit has no 'c'"),
        (["a", *columns, "--rewards", "0; 1"], "--rewards: '0; 1' are not two numbers"),
        (["a", *columns, "--replay"], "--replay: none of the policies learns"),
    ):
        code, _, complaint = call("evaluate", str(log), *wrong)
        assert code == 2 and words in complaint


@pytest.mark.slow
def test_a_whole_stress_test(call, tmp_path, monkeypatch):
    """Tables, and code of the worst problem that makes its arms; the same command plays nothing again."""
    monkeypatch.setattr(stress.TwoStateSpace, "panel", lambda space: {"UCB1": UCB1()})
    monkeypatch.setattr(stress.point_search, "RUNS_AGAIN", stress.point_search.RUNS)  # a program less
    arguments = ["Uniform", "--quick", "--out", str(tmp_path)]
    code, printed, _ = call("stress", *arguments)
    assert code == 0 and max(map(len, printed.replace(str(tmp_path), "").splitlines())) <= 80
    (worst,) = rows_of(tmp_path / "worst.csv")
    assert " ".join(worst["code"].split()) in " ".join(printed.split())
    assert eval(worst["code"], {"jaxbandit": jaxbandit}).means().shape == (2,)
    assert {row["policy"] for row in rows_of(tmp_path / "space.csv")} == {"Uniform()", "UCB1"}
    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)  # what is in the folder is not played again
    assert call("stress", *arguments)[:2] == (0, printed)


def test_examples_in_docstrings_of_experiments():
    """Those of every module, as pytest looks for them in `jaxbandit` alone."""
    for path in (ROOT / "experiments").rglob("*.py"):
        if not path.name.startswith(("__", "play_")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            assert doctest.testmod(import_module(name)).failed == 0, name


def written(tmp_path, text):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    settings = sweep.Settings(spec=str(written(folder, GOOD)), out=str(folder / "out"))
    return settings, folder / "out", sweep.run(settings)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("runs = 4", "runs = ", "not TOML"),
        ("runs = 4", "rums = 4", "rums"),
        ("runs = 4", 'runs = "many"', "runs"),
        ("zeta", "zetta", "policies.v.zetta"),
        ('"UCBV"', '"UVBC"', "policies.v.policy"),
        ("[1, 2]", "[1, 1.0]", "policies.v.c"),
        ("[1, 2]", "[]", "policies.v.c"),
        ("[policies.kl]", '[policies."a: b"]', "policies.'a: b'"),
        ('"two_state"', '"twostate"', "scenarios.two.environment"),
        ("0.55]", "5.5]", "scenarios.two.p10"),
        ('"stationary"', "2", "scenarios.two.initial_state"),
        ("seed = 1\n", "concentration = 1" + 400 * "0" + "\n", "scenarios.chance.concentration"),
        ("[policies.v]", '[policies.r]\npolicy = "RoundRobinKLUCB"\ndelta = 0.6\n[policies.v]', "policies.r.delta"),
    ],
)
def test_a_bad_file_is_refused_by_key(tmp_path, old, new, key):
    assert old in GOOD
    with pytest.raises(ValueError, match=f"^spec.toml: {re.escape(key)}: "):
        sweep.run(sweep.Settings(str(written(tmp_path, GOOD.replace(old, new, 1))), str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


def test_a_file_that_lacks_something_is_refused(tmp_path):
    for kind in ("scenarios", "policies"):
        tables = [part for part in GOOD.split("\n[") if not part.startswith(kind)]
        with pytest.raises(ValueError, match=f"^spec.toml: {kind}: none given"):
            read(written(tmp_path, "\n[".join(tables)))
    with pytest.raises(ValueError, match="none.toml: cannot be read"):
        read(tmp_path / "none.toml")


@pytest.mark.slow
def test_every_row_is_the_policy_that_it_names(played):
    """Played once more in the same programs; a file and a picture for each part."""
    _, folder, whole = played
    rows = rows_of(folder / "table.csv")
    assert [row["scenario"] for row in rows] == ["two"] * 10 + ["chance"] * 10
    assert [len(result.labels) for result in whole.values()] == [10, 10]
    arms = {
        "two": jaxbandit.two_state([0.5, 0.4], [0.4, 0.55], initial_state="stationary"),
        "chance": jaxbandit.random_arms(jax.random.key(1), arms=2),
    }
    for scenario, first in (("two", 0), ("chance", 10)):
        v, none, zero, ucb = (rows[first + i : first + j] for i, j in ((0, 6), (6, 7), (7, 8), (8, 10)))
        assert none[0]["exploration"] == "None" and float(zero[0]["exploration"]) == 0
        policies = {
            "v": [UCBV(zeta=float(row["zeta"]), c=float(row["c"])) for row in v],
            "none": [KLUCB(clock="arm")],
            "zero": [KLUCB(exploration=0.0, clock="arm")],
            "ucb": [UCB1(bonus=float(row["bonus"])) for row in ucb],
        }
        size = {"runs": 4, "horizon": 200, "shuffle": True, "key": jax.random.key(3)}
        alone = jaxbandit.simulate(arms[scenario], policies, **size)
        means = [metrics.pseudo_regret(alone, label)[0, :, :, -1].mean(-1) for label in policies]
        given = [float(row["mean"]) for row in (*v, *none, *zero, *ucb)]
        assert given == pytest.approx(np.concatenate(means).tolist(), rel=1e-12)
    pictures = {"regret.png", "parameter_v.png", "parameter_ucb.png"}
    assert {path.name for path in folder.glob("*.png")} == pictures
    assert (folder / "spec.toml").read_text() == GOOD


@pytest.mark.slow
def test_the_same_command_plays_nothing_and_a_longer_file_only_what_is_new(played, monkeypatch, capsys):
    monkeypatch.setattr(sweep, "draw", lambda asked, results: ())
    settings, folder, _ = played
    before = {path: path.stat().st_mtime_ns for path in (folder / "counts").rglob("*.npz")}
    assert len(before) == 6
    sweep.run(settings)
    assert {path: path.stat().st_mtime_ns for path in (folder / "counts").rglob("*.npz")} == before
    longer = GOOD + '[policies.imed]\npolicy = "IMED"\n[scenarios.b]\nenvironment = "bernoulli"\nmeans = [0.5, 0.1]\n'
    sweep.run(sweep.Settings(str(written(folder.parent, longer)), str(folder)))
    after = {path: path.stat().st_mtime_ns for path in (folder / "counts").rglob("*.npz")}
    assert len(after) == 12 and before.items() <= after.items()
    changed = GOOD.replace("horizon = 200", "horizon = 300")
    with pytest.raises(ValueError, match=r"cases\['two: v'\]: horizon, times changed since"):
        sweep.run(sweep.Settings(str(written(folder.parent, changed)), str(folder)))
    capsys.readouterr()


def test_list_plays_nothing(tmp_path, capsys):
    assert sweep.run(sweep.Settings(str(written(tmp_path, GOOD)), str(tmp_path / "out"), list=True)) == {}
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 + 6 and printed[2].split() == ["two", "v", "6", "0.0048"]
    assert not (tmp_path / "out").exists()


def test_the_example_is_a_good_file():
    asked = read(ROOT / "experiments" / "specs" / "example.toml")
    assert list(asked.scenarios) == ["quick", "paper"]
    assert [len(grid.numbers) for grid in asked.grids] == [0, 1, 1, 2]
