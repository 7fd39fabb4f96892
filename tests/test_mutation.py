"""Small errors that the tests must notice: what is drawn, who is asked, and that equivalent ones still stand."""

import ast
import tomllib
from fnmatch import fnmatch

import pytest

from jaxbandit import ALL
from tests.mutation.mutants import ROOT, _shares, modules, mutant, places, sample
from tests.mutation.playing import HERE, holders
from tests.mutation.table import equivalents, table

FILES = ["jaxbandit/draws.py", "jaxbandit/sums.py"]
MODULES = [module for module in modules() if not module.endswith(("__init__.py", "version.py"))]
ROWS = tomllib.loads((HERE / "holders.toml").read_text())["held"]


def dotted(module):
    return module.removeprefix("jaxbandit/").removesuffix(".py").replace("/", ".")


def test_the_same_seed_draws_the_same():
    pytest.importorskip("cosmic_ray")
    drawn = sample(FILES, 7, seed=3)
    assert drawn == sample(FILES, 7, seed=3) != sample(FILES, 7, seed=4)
    assert {one.module for one in drawn} == set(FILES) and len(set(drawn)) == 7


def test_shares_are_in_proportion_and_at_least_one():
    assert _shares({"a": 1, "b": 300, "c": 700}, 11) == {"a": 1, "b": 3, "c": 7}
    assert _shares({"a": 5, "b": 2}, 0) == {"a": 5, "b": 2}


@pytest.mark.parametrize("module", FILES, ids=dotted)
def test_a_mutant_changes_one_line_and_no_annotation(module):
    pytest.importorskip("cosmic_ray")
    lines = (ROOT / module).read_text().splitlines()
    for place in places(module)[::10]:
        one = mutant(module, *place)
        if one is not None:
            assert lines[one.number - 1].strip() == one.line != one.becomes
            assert not one.line.startswith(("@", '"""')) or one.becomes == ""
    assert all("Array | None" not in lines[number - 1] or "=" in lines[number - 1] for *_, number in places(module))


@pytest.mark.parametrize("module", MODULES, ids=dotted)
def test_tests_hold_every_module(module):
    found = holders(module)
    assert found
    for file, words in found.items():
        known = " ".join([(ROOT / file).read_text(), *ALL]).lower()  # tests of policies have their names
        assert [word for word in words if word.lower() not in known] == []


def test_every_row_is_the_first_for_a_module():
    names = [module.removeprefix("jaxbandit/").removesuffix(".py") for module in MODULES]
    used = {next((pattern for pattern in ROWS if fnmatch(name, pattern)), None) for name in names}
    assert set(ROWS) - used == set()


@pytest.mark.parametrize(
    "entry", equivalents(), ids=lambda entry: f"{dotted(entry['module'])}-{entry['where'] or 'all'}"
)
def test_equivalent_mutants_are_still_there(entry):
    code = (ROOT / entry["module"]).read_text()
    named = [node for node in ast.walk(ast.parse(code)) if getattr(node, "name", None) == entry["where"]]
    assert named or not entry["where"], f"{entry['module']} has no {entry['where']}"
    spans = [(min([n.lineno, *(d.lineno for d in n.decorator_list)]), n.end_lineno) for n in named] or [(1, 10**6)]
    inside = [line.strip() for a, b in spans for line in code.splitlines()[a - 1 : b]]
    assert entry["line"] in inside, f"{entry['module']}, {entry['where']}: there is no line {entry['line']}"
    assert entry["becomes"] != entry["line"] and entry["reason"]


def test_the_score_leaves_out_what_changes_nothing():
    played = [("jaxbandit/base.py", "noticed"), ("jaxbandit/fast/batching.py", "equivalent")]
    played += [("jaxbandit/fast/jaxprs.py", "survived"), ("jaxbandit/fast/extremes.py", "noticed")]
    rows = table(played).splitlines()
    assert rows[2:] == [
        "| base | 1 | 1 | 0 | 0 | 100.0% |",
        "| fast | 3 | 1 | 1 | 1 | 50.0% |",
        "| all | 4 | 2 | 1 | 1 | 66.7% |",
    ]
