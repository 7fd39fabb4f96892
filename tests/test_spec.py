"""Sweeps described in TOML: what is refused, what is played, what is skipped, what is drawn."""

import csv
import doctest
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import jaxbandit
from experiments import sweep
from experiments.grids import policy_grid
from experiments.grids.policy_grid import make_grid
from experiments.grids.toml_file import read
from jaxbandit import metrics

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
[policies.tv]
policy = "TVKLUCB"
exponent = [0.2, 0.25, 0.3]
samples = ["arm", "state"]
scale = [1, 2]
clock = "arm"
[policies.kl]
policy = "KLUCB"
exploration = ["none", 0]
[policies.ucb]
policy = "UCB1"
bonus = [0.5, 2.0]
"""


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def written(tmp_path, text):
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    settings = sweep.Settings(spec=str(written(folder, GOOD)), out=str(folder / "out"))
    return settings, folder / "out", sweep.run(settings)


def test_doctest():
    assert doctest.testmod(policy_grid).failed == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("runs = 4", "runs = ", "not TOML: Invalid value (at line 2, column 8)"),
        (
            "runs = 4",
            "rums = 4",
            "rums: unknown key; there are runs, horizon, plays, shuffle, delay, batch, random_numbers, seed, times",
        ),
        ("runs = 4", 'runs = "many"', "runs: 'many' is not an integer"),
        ("runs = 4", "runs = 9999999999", "runs: 9999999999; at least 1 is needed, at most 2^31 - 1"),
        ("seed = 1\n", "concentration = 1" + 400 * "0" + "\n", "scenarios.chance.concentration: 100"),
        ("[1, 2]", "[nan, nan]", "policies.tv.scale: a value twice in [nan, nan]"),
        ("horizon = 200", "horizon = 0", "horizon: 0; at least 1 round"),
        ("horizon = 200", "horizon = 200\ntimes = [9, 5]", "times: not sorted"),
        ("horizon = 200", "horizon = 200\nplays = 3", "plays: 3 arms a round; there are 2"),
        ("seed = 3\n", "seed = -3\n", "seed: -3 lies outside"),
        ("seed = 3\n", "seed = 0.5\n", "seed: 0.5 is not an integer"),
        ("shuffle = true", 'shuffle = "no"', "shuffle: 'no' is neither true nor false"),
        ("exponent", "exponnt", "policies.tv.exponnt: unknown field; TVKLUCB has exploration, unvisited, exponent, sc"),
        ('"TVKLUCB"', '"TVKLUBC"', "policies.tv.policy: 'TVKLUBC' is unknown; give one of UCBSM, KLUCB,"),
        ('policy = "TVKLUCB"\n', "", "policies.tv.policy: missing; give one of UCBSM, KLUCB,"),
        ("[1, 2]", "[1, -2]", "policies.tv.scale: -2.0 lies outside [0, 1e+30]"),
        ("[1, 2]", "[1, true]", "policies.tv.scale: True is not a number; give one, or a list"),
        ("[1, 2]", '[1, "none"]', "policies.tv.scale: 'none' is not a number; give one"),
        ("[1, 2]", "[1, 1.0]", "policies.tv.scale: a value twice in [1, 1.0]"),
        ("[1, 2]", "[]", "policies.tv.scale: an empty list"),
        ("[1, 2]", "{from = 1}", "policies.tv.scale: {'from': 1} is not a number"),
        ('clock = "arm"', 'clock = "hour"', "policies.tv.clock: 'hour' is not one of round, arm"),
        ('clock = "arm"', "clock = [[1]]", "policies.tv.clock: [1] is not one value"),
        ('["none", 0]', '"some"', "policies.kl.exploration: 'some' is not a number or \"none\""),
        ("[policies.kl]", '[policies."a: b"]', "policies.'a: b': a name is made of letters"),
        ("[policies.tv]", "[policies]\nkl2 = 3\n[policies.tv]", "policies.kl2: 3 is not a table; write [policies.kl2]"),
        ('"two_state"', '"twostate"', "scenarios.two.environment: 'twostate' is unknown; give one of two_state, bern"),
        ("p10 =", "p11 =", "scenarios.two.p11: unknown field; two_state has p01, p10, reward, initial_state"),
        ("p10 = [0.4, 0.55]\n", "", "scenarios.two.p10: missing; two_state has p01, p10"),
        ("0.55]", "5.5]", "scenarios.two.p10: a probability lies outside [0, 1]"),
        ("0.55]", "0.55, 0.1]", "scenarios.two.p01 and p10: shapes (2,) and (3,) disagree"),
        ('"stationary"', "2", "scenarios.two.initial_state: 2 is out of range 0..1"),
        ("seed = 1\n", 'seed = "x"\n', "scenarios.chance.seed: 'x' is not an integer"),
    ],
)
def test_a_bad_file_is_refused_by_key(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        sweep.run(sweep.Settings(str(written(tmp_path, GOOD.replace(old, new, 1))), str(tmp_path / "out")))
    assert str(refused.value).startswith(f"spec.toml: {message}")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["scenarios", "policies"])
def test_a_file_without_one_kind_is_refused(tmp_path, kind):
    tables = [part for part in GOOD.split("\n[") if not part.startswith(kind)]
    with pytest.raises(ValueError, match=rf"^spec.toml: {kind}: none given; add at least one table \[{kind}.NAME\]"):
        read(written(tmp_path, "\n[".join(tables)))


def test_what_is_refused_depends_on_the_scenario(tmp_path):
    text = GOOD + '[policies.rr]\npolicy = "RoundRobinKLUCB"\ndelta = 0.6\n'
    with pytest.raises(ValueError, match=r"policies.rr.delta: 0.6 lies outside \[0, 0.5\]"):
        read(written(tmp_path, text))
    with pytest.raises(ValueError, match="none.toml: cannot be read"):
        read(tmp_path / "none.toml")


def test_order_and_labels_of_a_grid():
    table = {
        "exponent": [0.2, 0.3],
        "samples": ["arm", "state"],
        "scale": [1, 2],
        "exploration": ["none", 0],
        "clock": "arm",
    }
    variants = make_grid("tv", jaxbandit.TVKLUCB, table, "").variants()
    assert len(variants) == 16 and len({variant.label for variant in variants}) == 16
    assert [variant.label for variant in variants[:5]] == [
        "tv, samples=arm, exploration=None, exponent=0.2, scale=1.0",
        "tv, samples=arm, exploration=None, exponent=0.2, scale=2.0",
        "tv, samples=arm, exploration=None, exponent=0.3, scale=1.0",
        "tv, samples=arm, exploration=None, exponent=0.3, scale=2.0",
        "tv, samples=arm, exploration=0.0, exponent=0.2, scale=1.0",
    ]
    last = jaxbandit.TVKLUCB(samples="state", exploration=0.0, exponent=0.3, scale=2.0, clock="arm")
    assert variants[-1].policy == last and variants[-1].position == 3
    assert make_grid("kl", jaxbandit.KLUCB, {}, "").entries() == {"kl": [jaxbandit.KLUCB()]}


def test_every_row_is_the_policy_that_it_names(played):
    _, folder, whole = played
    rows = rows_of(folder / "table.csv")
    assert [row["scenario"] for row in rows] == ["two"] * 16 + ["chance"] * 16
    assert [len(result.labels) for result in whole.values()] == [16, 16]
    arms = {
        "two": jaxbandit.two_state([0.5, 0.4], [0.4, 0.55], initial_state="stationary"),
        "chance": jaxbandit.random_arms(jax.random.key(1), arms=2),
    }
    for row in rows[3::9]:
        if row["policy"] == "tv":
            numbers = {name: float(row[name]) for name in ("exponent", "scale")}
            policy = jaxbandit.TVKLUCB(samples=row["samples"], clock="arm", **numbers)
        elif row["policy"] == "kl":
            policy = jaxbandit.KLUCB(exploration=None if row["exploration"] == "None" else float(row["exploration"]))
        else:
            policy = jaxbandit.UCB1(bonus=float(row["bonus"]))
        size = {"runs": 4, "horizon": 200, "shuffle": True, "key": jax.random.key(3)}
        alone = jaxbandit.simulate(arms[row["scenario"]], {"a": policy}, **size)
        regret = metrics.pseudo_regret(alone, "a")[0, 0, :, -1]
        assert float(row["mean"]) == pytest.approx(regret.mean(), rel=1e-12)


def test_pictures_of_a_sweep(played):
    _, folder, _ = played
    pictures = {"regret", "parameter_tv, samples=arm", "parameter_tv, samples=state", "parameter_ucb"}
    assert {path.name for path in folder.glob("*.png")} == {f"{name}.png" for name in pictures}
    assert (folder / "spec.toml").read_text() == GOOD


def test_the_same_command_plays_nothing_and_a_longer_file_only_what_is_new(played, capsys):
    settings, folder, _ = played
    before = {path: path.stat().st_mtime_ns for path in (folder / "counts").rglob("*.npz")}
    assert len(before) == 6
    sweep.run(settings)
    assert {path: path.stat().st_mtime_ns for path in (folder / "counts").rglob("*.npz")} == before
    longer = (
        GOOD + '[policies.imed]\npolicy = "IMED"\n[scenarios.chance2]\nenvironment = "bernoulli"\nmeans = [0.5, 0.1]\n'
    )
    sweep.run(sweep.Settings(str(written(folder.parent, longer)), str(folder)))
    after = {path: path.stat().st_mtime_ns for path in (folder / "counts").rglob("*.npz")}
    assert len(after) == 12 and before.items() <= after.items()
    changed = GOOD.replace("horizon = 200", "horizon = 300")
    with pytest.raises(ValueError, match=r"cases\['two: tv'\]: horizon, times changed since"):
        sweep.run(sweep.Settings(str(written(folder.parent, changed)), str(folder)))
    capsys.readouterr()


def test_list_plays_nothing(tmp_path, capsys):
    assert sweep.run(sweep.Settings(str(written(tmp_path, GOOD)), str(tmp_path / "out"), list=True)) == {}
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 + 6 and printed[2].split() == ["two", "tv", "12", "0.0096"]
    assert not (tmp_path / "out").exists()


def test_shell(tmp_path):
    def shell(*arguments):
        command = [sys.executable, "-m", "experiments.sweep", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    done = shell(str(written(tmp_path, GOOD.replace("exponent", "exponnt"))))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("sweep: spec.toml: policies.tv.exponnt: unknown field; TVKLUCB has")
    done = shell("--help")
    assert all(words in done.stdout for words in ("SPEC", "--out", "--list", "experiments/specs/example.toml"))


def test_the_example_is_a_good_file():
    asked = read(ROOT / "experiments" / "specs" / "example.toml")
    assert list(asked.scenarios) == ["quick", "paper"]
    assert [len(grid.numbers) for grid in asked.grids] == [0, 1, 1, 2]
