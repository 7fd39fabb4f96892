"""The house's rules that a program can hold: who imports whom, how long a file is, what a public name says."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import jaxbandit
from jaxbandit.policies.parts import memory
from jaxbandit.simulation import chance, rounds

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jaxbandit"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.py"))

# Rooms and single files, from the ground up: each imports only those on the floors below its own.
FLOORS = [
    floor.split()
    for floor in """\
version texts cores interruption probabilities
pytrees arguments
feedback
base
members known_arms chains fast divergences metrics
delays decision_processes wrapping reward_units draws quantiles sums selection confidence planning
indices families
bounds environments policies results
named_problems simulation
sweeps live testing
choices stress plotting
learning
timing reports
command_line
judging
commands
__main__""".splitlines()
]
FIRST_ON_TOP = "timing"  # from here on the package is used as users use it
APART = [("policies", "environments"), ("policies", "bounds"), ("environments", "policies"), ("simulation", "policies")]


@cache
def imports(path: Path) -> set[str]:
    """The modules and names that a file imports, lazily and for types as well."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def file_of(name: str) -> Path | None:
    """The file of this repository in which a dotted name stands."""
    path = ROOT.joinpath(*name.split("."))
    if name.partition(".")[0] not in ("jaxbandit", "experiments"):
        return None
    places = path.with_suffix(".py"), path / "__init__.py", path.parent.with_suffix(".py"), path.parent / "__init__.py"
    return next((file for file in places if file.exists()), None)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def used_by(path: Path) -> set[Path]:
    return {file for name in imports(path) if (file := file_of(name))} - {path}


def test_imports_point_downward():
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    assert set(floor) == set(map(room_of, MODULES))
    for path in MODULES:
        room, on_top = room_of(path), floor[room_of(path)] >= floor[FIRST_ON_TOP]
        for other in used_by(path):
            if other.is_relative_to(PACKAGE) and other != PACKAGE / "__init__.py":
                below = room_of(other)
                assert below == room or floor[below] < floor[room], (path, other)
                assert (room, below) not in APART, (path, other)
            else:  # experiments, or the package as a whole, which imports everything
                assert on_top and other.is_relative_to(PACKAGE), (path, other)
        assert on_top or room == "plotting" or not any(name.startswith("matplotlib") for name in imports(path)), path
        if path.parent.parent == PACKAGE / "policies":  # packages of policies take nothing but parts from each other
            near = {other.parent for other in used_by(path) if other.parent.parent == PACKAGE / "policies"}
            assert near <= {path.parent, PACKAGE / "policies" / "parts"}, path


def test_no_files_import_each_other_in_a_circle():
    graph = {path: {other for other in used_by(path) if other.name != "__init__.py"} for path in MODULES + EXPERIMENTS}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the files


def reached(path: Path) -> set[Path]:
    """The files that a file imports, those that these import, and so on; `fast` changes no number and is left out."""
    files, left = {path}, [path]
    while left:
        new = {file for file in used_by(left.pop()) if file.parent != PACKAGE / "fast"} - files
        files |= new
        left += new
    return files - {path}


def test_files_are_short_and_have_names_of_their_own():
    """Who has read the file to copy and ten others knows all that a policy is made of."""
    long = {path.name: n for path in MODULES + EXPERIMENTS if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}
    assert len(reached(PACKAGE / "policies" / "means" / "ucb.py")) <= 10
    names = Counter(path.name for path in MODULES if path.name != "__init__.py")  # an editor's list shows these alone
    assert [name for name, number in names.items() if number > 1] == []
    for path in MODULES:  # else `jaxbandit.bounds.lower` would be one or the other, by what was imported last
        *parents, name = path.relative_to(ROOT).with_suffix("").parts
        if name != "__init__":
            assert isinstance(getattr(import_module(".".join(parents)), name, None), ModuleType | None), path


def test_some_words_stand_in_one_room():
    """Outside `fast`, nothing walks through jaxprs, names XLA's options, or reads the words of a key but to save them.

    The text of a jaxpr, which tells changed code and is not a matter of speed, is made in one file elsewhere. Optional
    members of environments and policies are asked for in `members`, which knows what holds without.
    """
    speed = {"make_jaxpr", "eqns", "xla_", "xla_metadata", "threefry_2x32", "UNIMPLEMENTED"}
    things = re.compile(r"environment|policy|arms|scenario|detector|memory|entry|(^|\.)thing$")
    for path in [*MODULES, *EXPERIMENTS]:
        text = path.read_text()
        if path.is_relative_to(PACKAGE) and room_of(path) != "fast":
            words = {word for word in speed if word in text}
            assert words == ({"make_jaxpr"} if path.name == "user_code.py" else set()), path
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        probes = [call for call in calls if ast.unparse(call.func) == "hasattr"]
        probes += [call for call in calls if ast.unparse(call.func) == "getattr" and len(call.args) == 3]
        probing = [ast.unparse(call) for call in probes if things.search(ast.unparse(call.args[0]))]
        assert path.name in ("members.py", "arguments.py") or probing == [], (path.name, probing)


FRESH = """
import sys, jaxbandit
late = {"matplotlib", "scipy.special", "scipy.optimize", "tqdm", "optax", "distributed", "xarray", "pandas", "h5py"}
assert not (late | {"gymnasium"}) & set(sys.modules)
jaxbandit.plotting.plot_regret
assert "matplotlib" in sys.modules
try:
    jaxbandit.ploting
except AttributeError as error:
    assert "module 'jaxbandit' has no attribute 'ploting'" in str(error)
jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.2]), {"U": jaxbandit.UCB1()}, runs=2, horizon=5, progress=False)
"""


def test_a_fresh_process(tmp_path):
    """What takes long to import waits until it is needed, and JAXBANDIT_CACHE keeps compiled programs."""
    environment = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    environment["JAXBANDIT_CACHE"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", FRESH], env=environment, check=True, cwd=ROOT)
    assert any(tmp_path.iterdir())


def public_rooms() -> dict[str, ModuleType]:
    modules = {name: getattr(jaxbandit, name) for name in [*jaxbandit.__all__, "plotting", "policies"]}
    rooms = {name: thing for name, thing in modules.items() if isinstance(thing, ModuleType)}
    return rooms | {"named_problems": jaxbandit.named_problems, "policies.memory": memory}


ROOMS = public_rooms()
PUBLIC = {name: getattr(jaxbandit, name) for name in jaxbandit.__all__ if name not in ROOMS}
PUBLIC |= {f"{room}.{name}": getattr(module, name) for room, module in ROOMS.items() for name in module.__all__}


def test_completion_shows_public_names_alone():
    """`dir` is what a notebook and a shell complete: not the names that a module imports."""
    assert {name for name in dir(jaxbandit) if name[0] != "_"} == {*jaxbandit.__all__, "plotting", "policies"}
    for room, module in ROOMS.items():
        assert {name for name in dir(module) if name[0] != "_"} == set(module.__all__), room


def test_what_the_documentation_of_a_public_name_says():
    """Every field of a public tuple is explained, and no docstring sends its reader to another one's arguments."""
    tuples = [thing for thing in PUBLIC.values() if isinstance(thing, type) and hasattr(thing, "_fields")]
    for each in [*tuples, chance.RunKeys, rounds.Carry, memory.Visits, memory.Sums, memory.Transitions]:
        for field in each._fields:
            said = vars(each)[field].__doc__
            assert said.endswith(".") and not said.startswith("Alias"), (each, field)
    elsewhere = r"^ +[a-z_, ]+: as in `|Args, returns|Args: as|[Aa]rguments (and \w+ )?as "
    for name, thing in PUBLIC.items():
        assert not callable(thing) or not re.search(elsewhere, thing.__doc__ or "", re.M), name
