"""What the site is made of. The build itself refuses warnings and broken references."""

import doctest
import inspect
import re
from importlib import import_module

import pytest

import jaxbandit
from docs.making import ROOT, at_a_glance, docstrings, named_problems, policies

DOCS = ROOT / "docs"
PAGES = [path for path in (*DOCS.rglob("*.md"), ROOT / "README.md") if "generated" not in path.parts]
MODULES = sorted(path.stem for path in (DOCS / "making").glob("[!_]*.py"))
COMMANDS = {path.stem for path in (ROOT / "experiments").glob("*.py")}


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    if name == "mathml":
        pytest.importorskip("sphinx")
        pytest.importorskip("latex2mathml")
    assert doctest.testmod(import_module(f"docs.making.{name}")).failed == 0


def test_no_words_without_a_policy():
    assert set(policies.descriptions()) <= set(policies.classes())


def test_a_policy_without_words_is_named():
    with pytest.raises(KeyError, match="guarantee for the policy UCB1"):
        policies.about("UCB1", {"UCB1": {"name": "UCB1", "formula": "x", "assumes": "nothing"}})


def test_the_table_of_policies_has_few_columns(tmp_path):
    """Six fit beside the menu at 1,280 dots."""
    tables = {path.name: text for path, text in policies.write(tmp_path, {}).items() if path.parent.name == "parts"}
    assert tables["policies.md"].splitlines()[0].count(" | ") == 5
    assert "2 to 64 states, rewards that a table lists" in tables["policies.md"]


def test_every_policy_has_a_page_with_its_formula(tmp_path):
    pages, words = policies.write(tmp_path, {"KLUCB": "187"}), policies.descriptions()
    for name in policies.classes():
        page = pages[tmp_path / "policies" / f"{name}.md"]
        assert page.startswith(f"# {name}\n") and f"$$\n{words[name]['formula']}\n$$" in page
        assert f".. autoclass:: jaxbandit.policies.{name}\n" in page
        assert ("million rounds/s" in page) == (name == "KLUCB")


def test_every_public_name_is_in_the_reference():
    folder = DOCS / "reference"
    text = "\n".join(path.read_text() for path in folder.glob("*.md"))
    entries = set(re.findall(r"^\.\. (?:auto\w+|py:data):: (jaxbandit\S*)$", text, re.MULTILINE))
    for path in folder.glob("*.md"):
        data = re.findall(r"^\.\. py:data:: (\w+)$", path.read_text(), re.MULTILINE)
        entries |= {f"jaxbandit.{path.stem}.{name}" for name in data}
    entries |= {f"jaxbandit.policies.{name}" for name in policies.classes()}
    for full in docstrings.places().values():
        module, _, name = full.rpartition(".")
        thing = getattr(import_module(module), name)
        of_module = module in entries - {"jaxbandit"} and (inspect.isclass(thing) or inspect.isfunction(thing))
        assert full in entries or of_module, full


def test_what_there_is_has_every_constructor_and_policy(tmp_path):
    environments, players = at_a_glance.write(tmp_path).values()
    constructors = {name for name, thing in vars(jaxbandit.environments).items() if inspect.isfunction(thing)}
    for name in constructors & set(jaxbandit.environments.__all__) - {
        "fit",
        "fit_exponential_family",
        "fit_hidden",
        "fit_restless",
    }:
        assert f"`{name} <jaxbandit.environments.{name}>` | " in environments
    assert all(f"[`{name}`]" in players for name in policies.classes())
    assert re.search(r"`restless .*` \| restless \| ", environments) and "`riverswim" in environments


def test_the_atlas_is_shown_whole(tmp_path):
    view = "".join(named_problems.write(tmp_path).values())
    for name, problem in jaxbandit.atlas.items():
        assert f"| `{name}` |" in view and docstrings.words(problem.purpose) in view


def test_sources_are_listed_in_full():
    name, year = r"(?:Van |O')?[A-Z][\w-]+", r"(?:19|20)\d\d"
    names = rf"{name}(?:(?:, | and ){name})*(?: et al\.)?"
    listed = re.findall(rf"^- \*\*({names} {year})\*\*", (DOCS / "references.md").read_text(), re.MULTILINE)
    assert listed == sorted(set(listed))
    named = set()
    for file in (ROOT / "jaxbandit").rglob("*.py"):
        for source in re.findall(r"Source: (.*?)(?:\n\n|\Z)", file.read_text(), re.DOTALL):
            named |= set(re.findall(rf"{names} {year}", " ".join(source.split())))
    assert len(named) > 40 and named <= set(listed)


def test_pages_run_what_they_show_and_name_commands_that_there_are():
    """Python stands in executed cells only, but for README, whose Python a test of its own runs."""
    for path in PAGES:
        assert "```python\n" not in path.read_text() or path.name == "README.md", path
        assert set(re.findall(r"-m experiments\.(\w+)", path.read_text())) <= COMMANDS, path


def test_the_site_is_built_as_the_readme_says_and_without_the_tests():
    command = "python -m sphinx -W docs site"
    assert command in (ROOT / "README.md").read_text()
    for caller in (".ci/run", ".github/workflows/site.yml"):
        assert command.replace("sphinx", "sphinx -q") in (ROOT / caller).read_text()
    for path in (*PAGES, *(DOCS / "making").glob("*.py"), DOCS / "conf.py"):
        assert not re.search(r"^(from|import) tests", path.read_text(), re.MULTILINE), path
