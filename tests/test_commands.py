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
from typing import Any, NamedTuple

import pytest

from experiments.published.scenarios import SCENARIOS
from jaxbandit import KLUCB, UCB1, Thompson, Uniform

SMALL = {"KL-UCB-SM": KLUCB(), "uniform": Uniform()}
FEW = {"KL-UCB": KLUCB(), "Thompson": Thompson(), "UCB1": UCB1()}
SCENARIO = ("table paired claims", "regret regret_kl distribution plays")


class Whole(NamedTuple):
    """A command: settings, what is replaced for speed, and the names of its tables and pictures."""

    tables: str
    pictures: str
    settings: dict[str, Any] = {"runs": 3, "horizon": 200}  # noqa: RUF012
    replaced: dict[str, Any] = {}  # noqa: RUF012
    grows: bool = False  # whether more runs go on with those that are there
    report: bool = False


def only(module, name, *labels):
    """Some entries of a dict in `experiments`."""
    return {label: getattr(import_module(f"experiments.{module}"), name)[label] for label in labels}


TWO = {name: SCENARIOS[name] for name in ("scenario 1", "scenario 3")}
WHOLE = {
    "scenario1": Whole(*SCENARIO),
    "scenario3": Whole(*SCENARIO),
    "asymptotic_bounds": Whole("constants", "asymptotic_bounds", {}),
    "concentration": Whole("concentration", "concentration"),
    "lower_bound": Whole("growth", "lower_bound", replaced={"lower_bound.POLICIES": SMALL | {"UCB-SM": UCB1()}}),
    "initial_state": Whole("table claims", "initial_state_2", replaced={"initial_state.NAMES": ("scenario 2",)}),
    "optimality": Whole("growth", "optimality", replaced={"optimality.PLAYED": SMALL}, grows=True),
    "families": Whole("growth", "families", replaced={"families.policies": lambda problem: SMALL}, grows=True),
    "front": Whole(
        "final worst scenario_1 scenario_2 scenario_3 scenario_4 i_i_d_arms i_i_d_high tenth best20 best1000",
        "front",
        replaced={"front.GROUPS": {"all": SMALL}},
        grows=True,
        report=True,
    ),
    "restless": Whole(
        "table best overtaking",
        "restless finals",
        replaced={
            "restless.LEARNERS": only("restless", "LEARNERS", "KL-UCB-SM", "IMED-MC", "RCA", "DSEE"),
            "restless.SCENARIOS": TWO,
        },
        grows=True,
        report=True,
    ),
    "hidden": Whole(
        "verdicts regret final",
        "hidden",
        replaced={"hidden.ERRORS": (0.0, 0.4), "hidden.LEARNERS": only("hidden", "LEARNERS", "TV-KL-UCB", "KL-UCB-SM")},
        grows=True,
        report=True,
    ),
    "known_chains": Whole(
        "missed again",
        "known_chains",
        {"runs": 3, "error": 0.1},
        {"known_chains.DISCOUNTS": (0.5, 0.9), "known_chains.AGAIN": (0.9,), "known_chains.SCENARIOS": TWO},
        grows=True,
    ),
    "policies": Whole(
        "easy_Bernoulli hard_Bernoulli Gaussian Poisson exponential scenario_1 worst",
        "policies",
        replaced={
            "policies.on_means": lambda family, horizon: {"kind": {"UCB1": UCB1()}},
            "policies.on_states": lambda: {"other": {"KLUCB": KLUCB()}},
        },
        grows=True,
    ),
    "iid": Whole("table phases", "phases", replaced={"iid.OTHERS": {"KL-UCB-SM": KLUCB()}}),
    "changing": Whole(
        "growth thesis changes chains",
        "growth thesis changes chains",
        {"runs": 3, "horizon": 200, "problems": 4, "runs_of_problem": 2},
        {
            "change.growth.BUDGETS": (1.0, 3.0),
            "change.segments.forgetful": lambda horizon, changes: FEW,
            "change.segments.CHANGES": (1, 3),
        },
    ),
    "adversary": Whole("table", "price", replaced={"adversary.policies": lambda horizon: FEW}),
    "decision_processes": Whole(
        "RiverSwim RiverSwim_in_episodes",
        "RiverSwim RiverSwim_in_episodes",
        {"quick": True},
        {"processes.problems.LOOPS": {}},
        report=True,
    ),
    "bandit_as_process": Whole("table", "regret"),
    "budget": Whole("gaps falls learned", "gaps learned", {"quick": True}, report=True),
    "ablation": Whole(
        "ablation highlights",
        "ablation_median ablation_mean",
        replaced={"ablation.DISTANCES": {"total_variation": "total variation"}, "ablation.SAMPLES": ("arm",)},
    ),
    "robustness": Whole(
        "mean worst_2 worst_5 against_2 against_5",
        "robustness against",
        {"quick": True},
        {"robustness.playing_two_states": lambda: FEW, "robustness.HORIZONS": (1000,)},
    ),
    "tune": Whole(
        "training_mean best_mean final_mean verdicts_mean",
        "training_mean held_out_mean",
        {"runs": 4, "held_out": 6, "horizon": 300, "policy": "UCB1", "grid": "bonus = [0.5, 2]"},
        grows=True,
    ),
    "paper": Whole(
        "claims claims_bounds bounds final_iid_arms " + " ".join(f"final_scenario_{n}" for n in "1234"),
        "iid_arms bounds " + " ".join(f"figure_{n}" for n in ("1a", "1b", "1c", "1d", "1e", "2a", "2b", "2c", "2d")),
        {"runs": 6, "horizon": 300},
        grows=True,
        report=True,
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_command_writes_its_folder_and_continues(name, tmp_path, monkeypatch, capsys):
    whole = WHOLE[name]
    for place, value in whole.replaced.items():
        monkeypatch.setattr(f"experiments.{place}", value)
    if "scenario" in name:
        module = import_module("experiments.published.comparison")
        run = partial(module.compare_policies, f"scenario {name[-1]}")
    else:
        module = import_module(f"experiments.{name}")
        run = module.run
    kind = getattr(module, "Settings", None) or import_module("experiments.command_line.options").Simulation
    settings = kind(**whole.settings, out=str(tmp_path))
    run(settings)
    assert f"written to {tmp_path}" in (printed := capsys.readouterr().out) or "report: " in printed
    files = {f"{table}.csv" for table in whole.tables.split()} | {"settings.json"}
    files |= {f"{picture}.{end}" for picture in whole.pictures.split() for end in ("png", "pdf")}
    files |= {"report.html"} if whole.report else {"result.npz"} if "scenario" in name else set()
    assert {path.name for path in tmp_path.glob("*.*")} == files
    for table in whole.tables.split():
        with open(tmp_path / f"{table}.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows and not any(cell == "nan" for row in rows for cell in row.values())
    if whole.report:
        page = (tmp_path / "report.html").read_text()
        assert "<script" not in page and "url(" not in page and "<img" in page
        assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'(?:src|href)="([^"]*)', page))
    counts = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz") if path.parent != tmp_path}
    run(replace(settings, runs=settings.runs + 1) if whole.grows else settings)
    assert all(path.stat().st_mtime_ns == time for path, time in counts.items())
    capsys.readouterr()


def test_every_command_is_there():
    """But those with tests of their own, and scenarios that are like others."""
    own = {"__init__", "__main__", "scenario2", "scenario4", "peers", "sweep", "judge", "own_policy", "benchmark"}
    assert {path.stem for path in (Path(__file__).parent.parent / "experiments").glob("*.py")} == own | set(WHOLE)


def test_examples_in_docstrings():
    """Those of every module, as pytest looks for them in `jaxbandit` alone."""
    folder = Path(__file__).parent.parent / "experiments"
    for path in folder.rglob("*.py"):
        if not path.name.startswith(("__", "play_")):
            name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
            assert doctest.testmod(import_module(name)).failed == 0, name
