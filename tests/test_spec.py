"""Sweeps described in TOML: what is refused, what is played, what is skipped, what is drawn."""

import csv
import re
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, UCB1, UCBV, metrics
from jaxbandit.command_line.grids.toml_file import read
from jaxbandit.commands import sweep

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
