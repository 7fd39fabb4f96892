"""The comparison with other packages: stand-ins play in their processes, tables against computation by hand."""

import ast
import csv
import dataclasses
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from experiments import peers
from experiments.other_packages import blocks, environment, process_learners, side_by_side, smpybandits
from experiments.timing import scalar_process_loop
from jaxbandit.environments import riverswim

FEW = ("UCB1", "IMED", "IMED, mended", "uniform")
# what the scripts ask of the packages: UCB1 as its authors write it, and arms in turn in the place of all others
STAND_IN = {
    "SMPyBandits/__init__.py": "print('it prints while it is imported')",
    "SMPyBandits/Arms.py": "import numpy as np\n"
    "class Bernoulli:\n"
    "    def __init__(self, mean): self.mean = mean\n"
    "    def draw(self, t): return np.random.binomial(1, self.mean)\n",
    "SMPyBandits/Policies/__init__.py": "import random\n"
    "import numpy as np\n"
    "from .IMED import IMED\n"
    "class EmpiricalMeans(IMED): pass\n"
    "class UCB(IMED):\n"
    "    def choice(self):\n"
    "        if 0 in self.pulls: return self.pulls.index(0)\n"
    "        n = np.array(self.pulls)\n"
    "        return int(np.argmax(np.array(self.rewards) / n + np.sqrt(2 * np.log(self.t) / n)))\n"
    "class Uniform(IMED):\n"
    "    def choice(self): return random.randint(0, self.arms - 1)\n",
    "SMPyBandits/Policies/IMED.py": "def Dinf(x, mu): return mu\n"
    "class IMED:\n"
    "    def __init__(self, arms): self.arms = arms\n"
    "    def startGame(self): self.t, self.pulls, self.rewards = 0, [0] * self.arms, [0] * self.arms\n"
    "    def choice(self): return self.t % self.arms\n"
    "    def getReward(self, arm, reward):\n"
    "        self.t += 1; self.pulls[arm] += 1; self.rewards[arm] += reward\n",
    "SMPyBandits/Policies/kullback.py": "def klBern(x, y): return 0.25\ndef kllcbBern(x, d): return x\n"
    "def klucbGauss(x, d, variance=0.25): return x + (2 * variance * d) ** 0.5\n",
    "statisticalrl_learners/MDPs_discrete/PSRL.py": "PSRL = None",
    "statisticalrl_learners/MDPs_discrete/IMED_RL.py": "IMEDRL = None",
    # a learner that always swims to the left
    "statisticalrl_learners/MDPs_discrete/UCRL2.py": "class UCRL2:\n"
    "    def __init__(self, states, actions, delta): assert (states, actions, delta) == (6, 2, 0.05)\n"
    "    def reset(self, state): print('it prints'); assert state == 0\n"
    "    def play(self, state): assert state == 0; return 0\n"
    "    def update(self, state, action, reward, following): assert reward == 0.005 and following == 0\n",
}


@pytest.fixture
def python(tmp_path):
    """A Python that has the stand-in, as a command."""
    for name, text in STAND_IN.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = tmp_path / "python"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path / "packages"}" exec "{sys.executable}" "$@"\n')
    command.chmod(0o755)
    return command


@pytest.fixture
def few(monkeypatch):
    """Four policies, two problems, three runs a block, and no time for timing."""
    chosen = [pair for pair in smpybandits.pairs(100) if pair.label in FEW]
    monkeypatch.setattr(peers, "pairs", lambda horizon: chosen)
    monkeypatch.setattr(peers, "PROBLEMS", {"easy": [0.8, 0.2], "hard": [0.1, 0.4, 0.3]})
    for room in (peers, process_learners):
        monkeypatch.setattr(room, "processor_rate", lambda arms, policy: 1e6)
    monkeypatch.setattr(process_learners, "LEARNERS", process_learners.LEARNERS[:1])  # UCRL2
    monkeypatch.setattr(process_learners, "BLOCK", 3)
    monkeypatch.setattr(smpybandits, "BLOCK", 3)


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_both_play_and_are_compared(tmp_path, python, few, capfd):
    settings = peers.Settings(
        runs=8,
        horizon=60,
        process_horizon=50,
        out=str(tmp_path / "out"),
        python=str(python),
        process_python=str(python),
    )
    results = peers.run(settings)
    printed = capfd.readouterr().out
    assert "SMPyBandits 0.9.7 plays 24 of 24 blocks" in printed and "while it is imported" not in printed
    rows = rows_of(tmp_path / "out" / "table.csv")
    assert [(row["arms"], row["policy"]) for row in rows] == [(name, label) for name in peers.PROBLEMS for label in FEW]
    for row in rows:
        means = np.array(peers.PROBLEMS[row["arms"]])
        what = f"{row['arms']}-{row['policy'].replace(', ', '--')}"
        files = [tmp_path / "out" / "theirs" / f"{what}-{runs}.json" for runs in ("0-3", "3-6", "6-8")]
        plays = np.array([run[-1] for path in files for run in json.loads(path.read_text())["plays"]])
        assert plays.shape == (8, len(means)) and (plays.sum(1) == 60).all()
        theirs = (plays * (means.max() - means)).sum(1)
        counts = results[row["arms"]].visits[row["policy"]][0, 0, :, -1].sum(-1)
        ours = (counts * (means.max() - means)).sum(1)
        assert len(ours) == 8 * peers.MORE
        assert row["jaxbandit"].startswith(f"{ours.mean():,.1f} ±")
        assert row[peers.NAME].startswith(f"{theirs.mean():,.1f} ±")
        difference, half = side_by_side.compare(ours, theirs, 8)
        low, high = difference - half, difference + half
        assert row["difference"] == f"{difference:,.1f} ({low:,.1f} to {high:,.1f})"
        if theirs.std() > 1e-9:
            known = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(1 - 0.05 / 8)
            assert (low, high) == pytest.approx((known.low, known.high), rel=1e-9)
        agrees = low <= 0 <= high
        assert row["verdict"] == "agree" if agrees else row["verdict"].startswith("differ, ")
    found = {(row["arms"], row["policy"]): row["verdict"] for row in rows}
    assert found["easy", "UCB1"] == found["easy", "uniform"] == "agree"
    assert found["easy", "IMED"] == f"differ, because {smpybandits.LEAST}"
    assert found["easy", "IMED, mended"] == "differ, and we do not know why"
    assert "of 8 rows agree; not: IMED (easy), IMED, mended (easy)" in printed
    assert {row["in SMPyBandits"]: row["returns"] for row in rows_of(tmp_path / "out" / "evidence.csv")}[
        "kllcbBern(0.5, 0.2)"
    ] == "0.5000"
    names = {path.name for path in (tmp_path / "out").iterdir()} - {"counts", "theirs", "learners", "settings.json"}
    tables = ("table", "speed", "definitions", "evidence", "processes", "process_speed")
    pictures = itertools.product(("peers", "processes"), ("png", "pdf"))
    assert names == {f"{name}.csv" for name in tables} | {".".join(name) for name in pictures}

    peers.run(dataclasses.replace(settings, runs=10))  # 6 to 8 becomes 6 to 9, and one run is left
    assert "plays 16 of 32 blocks" in capfd.readouterr().out
    (damaged,) = (tmp_path / "out" / "theirs").glob("easy-UCB1-0-3.json")
    damaged.write_text(damaged.read_text().replace('"UCB"', '"Uniform"'))
    with pytest.raises(ValueError, match=r"easy-UCB1-0-3.json: holds no block of this job"):
        peers.run(settings)


def test_learners_are_compared_with_the_loop_and_with_the_package(tmp_path, python, few, capfd, monkeypatch):
    """The package's stand-in swims to the left in every round, and the loop's has collected a hundredth a round."""
    loop = scalar_process_loop.Played(np.full(5, 0.4), 2.0)
    monkeypatch.setattr(scalar_process_loop, "play", lambda *asked: loop)
    settings = peers.Settings(
        runs=5, process_horizon=40, only_processes=True, out=str(tmp_path / "out"), process_python=str(python)
    )
    results = peers.run(settings)
    printed = capfd.readouterr().out
    assert "statisticalrl-learners 2.2507 plays 2 of 2 blocks" in printed and "it prints" not in printed
    best = 40 * float(riverswim().comparator(1))
    visits, reward = results["RiverSwim"].visits["UCRL2"][0, 0, :, -1], np.asarray(riverswim().reward)
    ours = best - (visits * reward).sum((1, 2))
    assert ours.shape == (50,)
    rows = rows_of(tmp_path / "out" / "processes.csv")
    assert [row["beside"] for row in rows] == [process_learners.LOOP, process_learners.PACKAGE.name]
    for row, collected in zip(rows, (0.4, 0.2)):
        difference, half = side_by_side.compare(ours, np.full(5, best - collected), 2)
        assert row["jaxbandit"].startswith(f"{ours.mean():,.1f} ±")
        assert row["regret there"] == f"{best - collected:,.1f} ± 0.0"
        assert row["difference"].startswith(f"{difference:,.1f} (")
        why = process_learners.TIES if collected == 0.2 else ""
        assert row["verdict"] == side_by_side.verdict(difference, half, why)
    (row,) = rows_of(tmp_path / "out" / "process_speed.csv")
    assert row["jaxbandit"] == "1,000,000" and row[process_learners.LOOP] == "100"
    assert (tmp_path / "out" / "processes.png").exists() and not (tmp_path / "out" / "table.csv").exists()
    assert "Arms:" not in printed and "Decision processes: " in printed


def test_runs_have_luck_of_their_own_and_the_same_again(tmp_path, python):
    pair = next(pair for pair in smpybandits.pairs(100) if pair.label == "uniform")
    asked = smpybandits.jobs(pair, "p", [0.5, 0.4, 0.3], 60)
    assert [job["runs"] for job in asked] == [[0, 50], [50, 60]]
    request = {"horizon": 40, "times": [20, 40], "seed": 3, "jobs": asked}
    found = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        blocks.play(smpybandits.PACKAGE, python, request | {"seed": seed}, tmp_path / name)
        found.append(smpybandits.read(tmp_path / name, asked).plays)
    np.testing.assert_array_equal(found[0], found[1])
    assert found[0].shape == (60, 2, 3) and (found[0].sum(-1) == [20, 40]).all()
    assert (found[0] != found[2]).any(axis=(1, 2)).mean() > 0.9
    assert len(np.unique(found[0].reshape(60, -1), axis=0)) > 50


def test_a_process_that_fails_is_named(tmp_path, python):
    pair = next(pair for pair in smpybandits.pairs(100) if pair.label == "MOSS")  # the stand-in has none
    request = {"horizon": 10, "times": [10], "seed": 0, "jobs": smpybandits.jobs(pair, "p", [0.5, 0.4], 2)}
    with pytest.raises(OSError, match=r"SMPyBandits 0.9.7: its process ended with 1"):
        blocks.play(smpybandits.PACKAGE, python, request, tmp_path / "out")


def test_ours_plays_alone_where_the_package_cannot_be_had(tmp_path, few, capsys, monkeypatch):
    def refused(*arguments):
        raise OSError("pip ended with 1: no network")

    def no_numba(*arguments):
        raise ImportError

    monkeypatch.setattr(blocks, "make", refused)
    monkeypatch.setattr(scalar_process_loop, "play", no_numba)
    peers.run(peers.Settings(runs=2, horizon=30, process_horizon=20, out=str(tmp_path / "out")))
    printed = capsys.readouterr().out
    assert "SMPyBandits 0.9.7 cannot be had (pip ended with 1: no network); jaxbandit plays without it" in printed
    assert "statisticalrl-learners 2.2507 cannot be had" in printed and "numba is not installed" in printed
    assert printed.count("nobody else has played, and there is nothing to compare") == 2
    rows = rows_of(tmp_path / "out" / "table.csv")
    assert len(rows) == 8 and set(rows[0]) == {"arms", "policy", "jaxbandit"}
    (row,) = rows_of(tmp_path / "out" / "processes.csv")
    assert set(row) == {"policy", "jaxbandit"}
    assert (tmp_path / "out" / "peers.png").exists() and not (tmp_path / "out" / "definitions.csv").exists()


def test_ctrl_c_ends_the_other_process(tmp_path, few, monkeypatch):
    ended = []

    class Endless:
        def __init__(self, command, env):
            assert "PYTHONPATH" not in env
            self.stopped = False

        def wait(self):
            if not self.stopped:
                raise KeyboardInterrupt
            ended.append(True)

        def terminate(self):
            self.stopped = True

    monkeypatch.setenv("PYTHONPATH", "somewhere")
    monkeypatch.setattr(peers, "play", lambda planned, folder: {})
    monkeypatch.setattr(blocks.subprocess, "Popen", Endless)
    with pytest.raises(KeyboardInterrupt):
        peers.run(peers.Settings(runs=2, horizon=30, out=str(tmp_path / "out"), python="python"))
    assert ended


def test_the_environment_is_made_once(tmp_path, monkeypatch):
    asked, codes = [], [0, 0]

    def run(command, **options):
        asked.append(command)
        Path(tmp_path / "e").mkdir(exist_ok=True)
        return subprocess.CompletedProcess(command, codes[len(asked) - 1], "", "a warning\nno matching distribution\n")

    monkeypatch.setattr(environment.subprocess, "run", run)
    made = environment.make(tmp_path / "e", ["a==1", "b<2"])
    assert made == tmp_path / "e" / "bin" / "python" or sys.platform == "win32"
    assert asked[0][1:] == ["-m", "venv", str(tmp_path / "e")]
    assert asked[1][:3] == [str(made), "-m", "pip"] and asked[1][-2:] == ["a==1", "b<2"]
    assert environment.make(tmp_path / "e", ["a==1", "b<2"]) == made and len(asked) == 2
    codes += [0, 1]
    with pytest.raises(OSError, match="-m pip ended with 1: no matching distribution"):
        environment.make(tmp_path / "e", ["a==2"])


def test_intervals_of_two_samples():
    """Welch's, against scipy's; all rows together by a smaller level."""
    luck = np.random.default_rng(0)
    for rows in (1, 30):
        one, other = luck.normal(1, 2, 40), luck.gamma(2, 1, 300)
        difference, half = side_by_side.compare(one, other, rows)
        known = stats.ttest_ind(one, other, equal_var=False).confidence_interval(1 - 0.05 / rows)
        assert (difference - half, difference + half) == pytest.approx((known.low, known.high), rel=1e-9)
    assert (
        side_by_side.compare(np.ones(3), np.ones(4), 2) == (0.0, 0.0) and side_by_side.verdict(0.0, 0.0, "") == "agree"
    )


def test_names_of_blocks_are_all_different():
    names = [
        job["name"]
        for problem, means in peers.PROBLEMS.items()
        for pair in smpybandits.pairs(1000)
        for job in smpybandits.jobs(pair, problem, means, 120)
    ]
    assert len(set(names)) == len(names) and all(set(name) <= set(map(chr, range(45, 123))) for name in names)


@pytest.mark.parametrize(
    "package", [smpybandits.PACKAGE, process_learners.PACKAGE], ids=lambda package: package.name[:4]
)
def test_the_script_needs_nothing_of_ours(package):
    neighbour = package.script.with_name("job_files.py")
    assert imported(package.script) <= {*sys.stdlib_module_names, "numpy", "numba", "job_files"}
    assert imported(neighbour) <= set(sys.stdlib_module_names)


def imported(script):
    """The first words of the modules that a file imports."""
    nodes = list(ast.walk(ast.parse(script.read_text())))
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in modules}


def test_help_says_how_the_environment_is_made():
    done = subprocess.run(
        [sys.executable, "-m", "experiments.peers", "--help"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    for words in (
        "--environments",
        "--python",
        "--process-python",
        "python -m venv",
        "pip",
        "other versions of NumPy",
        "runs may grow",
    ):
        assert words in " ".join(done.stdout.split())
