"""The comparison with other packages: stand-ins play in their processes; scalar loops against loops of another hand."""

import ast
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest
import reference_processes as reference

from experiments import peers
from experiments.other_packages import packages, pairs
from jaxbandit.environments import riverswim

FEW = ("UCB1", "IMED", "uniform", "UCRL2")
ARM_IN_TURN = (
    "class {}:\n"
    "    def __init__(self, arms, **_): self.arms = arms\n"
    "    def startGame(self): self.t, self.pulls, self.rewards = 0, [0] * self.arms, [0] * self.arms\n"
    "    def choice(self): return self.t % self.arms\n"
    "    def getReward(self, arm, reward):\n"
    "        self.t += 1; self.pulls[arm] += 1; self.rewards[arm] += reward\n"
)
# what the job files ask of the packages: UCB1 as its authors write it, arms in turn for other policies, and a learner
# that always swims to the left
STAND_IN = {
    "SMPyBandits/__init__.py": "print('it prints while it is imported')",
    "SMPyBandits/Arms.py": "import numpy as np\n"
    "class Bernoulli:\n"
    "    def __init__(self, mean): self.mean = mean\n"
    "    def draw(self, t): return np.random.binomial(1, self.mean)\n",
    "SMPyBandits/Policies/__init__.py": "import random\n"
    "import numpy as np\n" + "".join(map(ARM_IN_TURN.format, ("IMED", "EmpiricalMeans"))) + "class UCB(IMED):\n"
    "    def choice(self):\n"
    "        if 0 in self.pulls: return self.pulls.index(0)\n"
    "        n = np.array(self.pulls)\n"
    "        return int(np.argmax(np.array(self.rewards) / n + np.sqrt(2 * np.log(self.t) / n)))\n"
    "class Uniform(IMED):\n"
    "    def choice(self): return random.randint(0, self.arms - 1)\n",
    "SMPyBandits/Policies/kullback.py": "klucbGauss = None",
    "statisticalrl_learners/MDPs_discrete/UCRL2.py": "class UCRL2:\n"
    "    def __init__(self, states, actions, delta): assert (states, actions, delta) == (6, 2, 0.05)\n"
    "    def reset(self, state): print('it prints'); assert state == 0\n"
    "    def play(self, state): assert state == 0; return 0\n"
    "    def update(self, state, action, reward, following): assert reward == 0.005 and following == 0\n",
}


@pytest.fixture
def python(tmp_path):
    """A Python that has the stand-ins, as a command."""
    for name, text in STAND_IN.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = tmp_path / "python"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path / "packages"}" exec "{sys.executable}" "$@"\n')
    command.chmod(0o755)
    return str(command)


def test_everyone_plays_and_is_compared(tmp_path, python, monkeypatch, capfd):
    problems = peers.problems

    def few(settings):
        chosen = {name: problem for name, problem in problems(settings).items() if name != "Gaussian"}
        return {
            name: problem._replace(pairs=[pair for pair in problem.pairs if pair.label in FEW])
            for name, problem in chosen.items()
        }

    monkeypatch.setattr(peers, "problems", few)
    monkeypatch.setattr(peers, "processor_rate", lambda *_, **__: 1e6)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # numba is not there
    asked = {"runs": 60, "horizon": 60, "process_horizon": 40, "out": str(tmp_path / "out")}
    settings = peers.Settings(**asked, python=python, process_python=python)
    results = peers.run(settings)
    printed = capfd.readouterr().out
    assert "plays 10 of 10 blocks" in printed and "it prints" not in printed and "numba is not installed" in printed
    theirs = peers.play_theirs(settings, tmp_path / "out" / "theirs")  # reads what is there
    rows = peers.table(results, theirs, settings)
    result = {(row["problem"], row["policy"], row["beside"]): row["verdict"] for row in rows}
    other = pairs.SMPYBANDITS.name
    assert result["easy", "UCB1", other] == result["easy", "uniform", other] == "agree"
    assert result["easy", "IMED", other] == f"differ, because {pairs.LEAST}"
    assert result["RiverSwim", "UCRL2", pairs.LOOPS.name] == "-"
    left = theirs["RiverSwim", 1].regret
    assert left == pytest.approx(np.full(60, 40 * (float(riverswim().comparator(1)) - 0.005)))
    written = {path.name for path in (tmp_path / "out").glob("*.*")}
    assert written == {"settings.json", "table.csv", "peers.png", "peers.pdf"}
    (damaged,) = (tmp_path / "out" / "theirs").rglob("easy-UCB1-0-50.json")
    damaged.write_text(damaged.read_text().replace('"UCB"', '"Uniform"'))
    with pytest.raises(ValueError, match="holds no block of this job"):
        peers.play_theirs(settings, tmp_path / "out" / "theirs")


def test_runs_have_random_numbers_of_their_own_and_the_same_again(tmp_path, python):
    job = {"means": [0.5, 0.4, 0.3], "deviation": None, "policy": "Uniform", "arguments": {}, "horizon": 400}
    regret = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        asked = packages.blocks("uniform", 60, job | {"seed": seed}, 50)
        packages.play(pairs.SMPYBANDITS, python, asked, tmp_path / name)
        regret.append(packages.read(tmp_path / name, asked).regret)
    np.testing.assert_array_equal(regret[0], regret[1])
    assert len(regret[0]) == 60 and (regret[0] != regret[2]).mean() > 0.9 and len(np.unique(regret[0])) > 30
    job = packages.blocks("none", 1, job | {"seed": 0, "policy": "MOSS"}, 50)
    with pytest.raises(OSError, match="ended with 1"):  # the stand-in has no such policy
        packages.play(pairs.SMPYBANDITS, python, job, tmp_path / "d")


def test_the_environment_is_made_once(tmp_path, monkeypatch):
    asked, codes = [], [0, 0, 0, 1]
    monkeypatch.setenv("PYTHONPATH", "somewhere")

    def run(command, env, **options):
        assert "PYTHONPATH" not in env
        asked.append(command)
        (tmp_path / "e").mkdir(exist_ok=True)
        return subprocess.CompletedProcess(command, codes[len(asked) - 1], "", "a warning\nno matching distribution\n")

    monkeypatch.setattr(packages.subprocess, "run", run)
    made = packages.make(tmp_path / "e", ("a==1", "b<2"))
    assert asked[0][1:] == ["-m", "venv", str(tmp_path / "e")] and asked[1][0] == made
    assert asked[1][-2:] == ["a==1", "b<2"]
    assert packages.make(tmp_path / "e", ("a==1", "b<2")) == made and len(asked) == 2
    with pytest.raises(OSError, match="no matching distribution"):
        packages.make(tmp_path / "e", ("a==2",))


def test_job_files_import_nothing_of_ours():
    for script in packages.Path(packages.__file__).parent.glob("play_*.py"):
        nodes = list(ast.walk(ast.parse(script.read_text())))
        modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        modules |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in modules} <= {*sys.stdlib_module_names, "numpy", "numba", "job_files"}


MOVES, REWARD = (np.array(field, float) for field in (riverswim(4).transition, riverswim(4).reward))
A, S = REWARD.shape


def played(choose, horizon, seed):
    """What is collected by `choose(t, counts, here)`, with the numbers that numpy draws after the seed."""
    np.random.seed(seed)  # noqa: NPY002
    counts, here, collected = np.zeros((A, S, S), int), 0, 0.0
    for t in range(1, horizon + 1):
        action = choose(t, counts, here)
        following = min(int(np.searchsorted(MOVES[action, here].cumsum(), np.random.random(), side="right")), S - 1)  # noqa: NPY002
        counts[action, here, following] += 1
        collected += REWARD[action, here]
        here = following
    return collected


def in_episodes(plan_of, after):
    """A policy that plans where a pair was tried twice as often as before, by another loop's plans."""
    plan, before = None, np.zeros((A, S), int)

    def choose(t, counts, here):
        nonlocal plan, before
        left = counts.sum(-1)
        ends = (left >= np.maximum(1, 2 * before)).any() if after else plan is not None and (
            (left - before)[plan[here], here] >= max(1, before[plan[here], here])
        )  # fmt: skip
        if plan is None or ends:
            plan, before = plan_of(t, counts, here), left
        return plan[here]

    return choose


def sampled(learned):
    """PSRL's plan, with laws drawn row by row."""

    def plan_of(t, counts, here):
        rows, paid, left = np.zeros((A, S, S)), REWARD.copy(), counts.sum(-1)
        for a, s in np.ndindex(A, S):
            drawn = np.random.standard_gamma(1 + counts[a, s])  # noqa: NPY002
            rows[a, s] = drawn / drawn.sum()
            if learned:
                gained = left[a, s] * REWARD[a, s]
                paid[a, s] = np.random.beta(1 + gained, 1 + left[a, s] - gained)  # noqa: NPY002
        return reference.iterate(lambda u: paid + rows @ u, S, min(max(1 / t, 1e-6), 1e-2), waiting=0.1)[0]

    return plan_of


def indices(normalised):
    """IMED-RL with the indices of another loop."""
    phi = np.zeros(S)

    def choose(t, counts, here):
        nonlocal phi
        worth, phi = reference.imed_rl(counts, REWARD, phi, here, normalised=normalised)
        return int(np.argmin(worth))

    return choose


@pytest.mark.parametrize(
    ("name", "setting", "other"),
    [
        ("UCRL2", 0.05, lambda: in_episodes(lambda t, c, s: reference.optimistic("UCRL2", c, REWARD, t, s)[0], False)),
        ("PSRL", True, lambda: in_episodes(sampled(True), True)),
        ("IMED-RL", True, lambda: indices(True)),
        ("IMED-RL", False, lambda: indices(False)),
    ],
)
def test_loops_play_as_loops_of_another_hand(name, setting, other, monkeypatch):
    """As plain Python, without numba: the same draws lead to the same rewards in every run."""
    monkeypatch.setitem(sys.modules, "numba", None)
    spec = importlib.util.spec_from_file_location("play_loops", pairs.LOOPS.path)
    loops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loops)
    job = {"policy": name, "arguments": {"": setting}, "moves": MOVES.tolist(), "reward": REWARD.tolist(), "best": 0.0}
    play = loops.prepare(json.loads(json.dumps(job)))
    result = [-play(150, np.array([seed])) for seed in range(3)]
    assert result == pytest.approx([played(other(), 150, seed) for seed in range(3)], abs=1e-9)
