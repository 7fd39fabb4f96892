"""Every experiment as a whole, at a tiny size: the files that it writes, and that the same command plays nothing again.

What stands in the tables is held by the tests of the functions that make them.
"""

import csv
import doctest
import re
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from experiments.published.scenarios import SCENARIOS
from jaxbandit import KLUCB, UCB1, Thompson, Uniform
from jaxbandit.policies import BernoulliGLR, RoundRobin

SMALL = {"KL-UCB-SM": KLUCB(), "uniform": Uniform()}
FEW = {"KL-UCB": KLUCB(), "Thompson": Thompson(), "UCB1": UCB1()}
TWO = {name: SCENARIOS[name] for name in ("scenario 1", "scenario 3")}
WHOLE = """
scenario1: table paired claims; regret regret_kl distribution plays
scenario3: table paired claims; regret regret_kl distribution plays
optimality: growth; optimality
uniformly_good: growth pairs; uniformly_good
families: growth; families
front: worst scenario_1 scenario_2 scenario_3 scenario_4 i_i_d_arms i_i_d_high tenth best20 best1000; front
restless: table best overtaking; restless
hidden: verdicts regret final;
bayes: Bernoulli_uniform chains_sticky;
known_chains: missed; known_chains
policies: easy_Bernoulli hard_Bernoulli Gaussian Poisson exponential scenario_1 worst; policies
changing: growth thesis changes chains; growth changes
adversary: table; price
decision_processes: RiverSwim RiverSwim_in_episodes; regret
budget: gaps falls learned;
identification: stopping sampling price; identification
robustness: mean worst_2 worst_5 against_2 against_5; robustness against
paper: claims claims_bounds phases bounds final_iid_arms FINALS; iid_arms phases bounds FIGURES
"""  # of each command its tables and its pictures
MIXED = [f"final_scenario_{n}_{which}_iid" for n in "13" for which in ("best", "others")]
WHOLE = WHOLE.replace("FINALS", " ".join([f"final_scenario_{n}" for n in "1234"] + MIXED))
WHOLE = WHOLE.replace("FIGURES", " ".join(f"figure_{n}" for n in "1a 1b 1c 1d 1e 2a 2b 2c 2d".split()))
WHOLE = {name: files.split(";") for name, _, files in (line.partition(": ") for line in WHOLE.strip().splitlines())}
# in these, more runs go on
GROWS = "optimality uniformly_good families front restless hidden known_chains policies paper".split()
REPORT = ["paper"]
SETTINGS = {
    "uniformly_good": {"runs": 3, "horizon": 200, "pairs": 3},
    "known_chains": {"runs": 3, "error": 0.1},
    "bayes": {"runs": 2, "horizon": 10, "problems": 5},
    "changing": {"runs": 3, "horizon": 200, "problems": 4, "runs_of_problem": 2},
    **{name: {"quick": True} for name in ("decision_processes", "budget", "robustness")},
    "paper": {"runs": 6, "horizon": 300},
}


def only(module, name, *labels):
    """Some entries of a dict in `experiments`."""
    return {label: getattr(import_module(f"experiments.{module}"), name)[label] for label in labels}


REPLACED = {  # for speed
    "bayes.PRIORS": only("bayes", "PRIORS", "Bernoulli, uniform", "chains, sticky"),
    "bayes.playing_two_states": lambda: FEW,
    "optimality.PLAYED": SMALL,
    "uniformly_good.POLICIES": SMALL,
    "families.policies": lambda problem: SMALL,
    "front.GROUPS": {"all": SMALL},
    "restless.LEARNERS": only("restless", "LEARNERS", "KL-UCB-SM", "IMED-MC", "RCA", "DSEE"),
    "restless.SCENARIOS": TWO,
    "hidden.ERRORS": (0.0, 0.4),
    "hidden.LEARNERS": only("hidden", "LEARNERS", "TV-KL-UCB", "KL-UCB-SM"),
    "known_chains.DISCOUNTS": (0.5, 0.9),
    "known_chains.SCENARIOS": TWO,
    "policies.on_means": lambda family, horizon: {"kind": {"UCB1": UCB1()}},
    "policies.on_states": lambda: {"other": {"KLUCB": KLUCB()}},
    "changing.BUDGETS": (1.0, 3.0),
    "changing.MANY_CHANGES": (1, 3),
    "adversary.policies": lambda horizon: FEW,
    "decision_processes.LOOPS": {},
    "robustness.playing_two_states": lambda: FEW,
    "robustness.HORIZONS": (1000,),
    "identification.MEANS": {3: (0.8, 0.3, 0.2)},
    "identification.STOPPING": {key: BernoulliGLR() for key in ("ChainGLR", "BernoulliGLR")},
    "identification.SAMPLING": {"RoundRobin": RoundRobin()},
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_command_writes_its_folder_and_continues(name, tmp_path, monkeypatch, capsys):
    tables, pictures = (names.split() for names in WHOLE[name])
    for place, value in REPLACED.items():
        monkeypatch.setattr(f"experiments.{place}", value)
    if "scenario" in name:
        module = import_module("experiments.published.comparison")
        run = partial(module.compare_policies, f"scenario {name[-1]}")
    else:
        module = import_module(f"experiments.{name}")
        run = module.run
    kind = getattr(module, "Settings", None) or import_module("jaxbandit.command_line.options").Simulation
    settings = kind(**SETTINGS.get(name, {"runs": 3, "horizon": 200}), out=str(tmp_path))
    run(settings)
    assert f"written to {tmp_path}" in (printed := capsys.readouterr().out) or "report: " in printed
    files = {f"{table}.csv" for table in tables} | {"settings.json"}
    files |= {f"{picture}.{end}" for picture in pictures for end in ("png", "pdf")}
    files |= {"report.html"} if name in REPORT else {"result.npz"} if "scenario" in name else set()
    assert {path.name for path in tmp_path.glob("*.*")} == files
    for table in tables:
        with open(tmp_path / f"{table}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows and not any(cell == "nan" for row in rows for cell in row.values())
    if name in REPORT:
        page = (tmp_path / "report.html").read_text()
        assert "<script" not in page and "url(" not in page and "<img" in page
        assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'(?:src|href)="([^"]*)', page))
    counts = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz") if path.parent != tmp_path}
    run(replace(settings, runs=settings.runs + 1) if name in GROWS else settings)
    assert all(path.stat().st_mtime_ns == time for path, time in counts.items())
    capsys.readouterr()


def test_every_command_is_there():
    """But those with tests of their own, and scenarios that are like others."""
    own = {"__init__", "__main__", "scenario2", "scenario4", "own_policy", "benchmark"}
    assert {path.stem for path in (Path(__file__).parent.parent / "experiments").glob("*.py")} == own | set(WHOLE)


def test_examples_in_docstrings():
    """Those of every module, as pytest looks for them in `jaxbandit` alone."""
    folder = Path(__file__).parent.parent / "experiments"
    for path in folder.rglob("*.py"):
        if not path.name.startswith("__"):
            name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            assert doctest.testmod(import_module(name)).failed == 0, name
