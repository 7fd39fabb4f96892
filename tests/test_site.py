"""What the site is made of. The build itself refuses warnings, broken links and whatever needs a network."""

import doctest
import inspect
import re
from contextlib import suppress
from importlib import import_module

import pytest

import jaxbandit
from docs.making import ROOT, named_problems, policies, reference
from tests.test_architecture import COMMANDS, DOORS, PUBLIC, PUBLIC_THINGS

DOCS = ROOT / "docs"
MODULES = sorted(path.stem for path in (DOCS / "making").glob("[!_]*.py"))
NEED_SPHINX = {"mathml", "links"}


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    if name in NEED_SPHINX:
        pytest.importorskip("sphinx")
        pytest.importorskip("latex2mathml")
    assert doctest.testmod(import_module(f"docs.making.{name}")).failed == 0


@pytest.mark.parametrize("name", policies.classes())
def test_a_policy_has_its_words(name):
    """A row of the site's table and a formula: `docs/policies.toml` has them."""
    policies.about(name, policies.said())


def test_the_table_of_policies_has_few_columns(tmp_path):
    """Six fit beside the menu at 1,280 dots; eight did not, and the last was out of sight."""
    tables = {path.name: text for path, text in policies.write(tmp_path, {}).items() if path.parent.name == "parts"}
    assert [row.count(" | ") for row in tables["policies.md"].splitlines()[:1]] == [5]
    assert (
        "| `TVKLUCB`" not in tables["known.md"]
        and "2 to 64 states, rewards that a table lists" in tables["policies.md"]
    )


def test_no_words_without_a_policy():
    assert set(policies.said()) <= set(policies.classes())


def test_a_policy_without_words_is_named():
    with pytest.raises(KeyError, match="guarantee for the policy UCB1"):
        policies.about("UCB1", {"UCB1": {"name": "UCB1", "formula": "x", "assumes": "nothing"}})


def test_every_public_name_is_in_the_reference(tmp_path):
    pages = reference.write(tmp_path, policies.classes()) | policies.write(tmp_path, {})
    text = "\n".join(pages.values())
    shown = set(re.findall(r"^:+\{py:(?:class|function|data)\} jaxbandit\.(?:[\w.]+\.)?(\w+)", text, re.MULTILINE))
    rooms = {room.split(".")[-1] for room in DOORS}
    asked = {name for names in DOORS.values() for name in names.split()} | set(PUBLIC)
    assert asked - rooms == shown


def test_every_policy_has_a_page_with_its_formula(tmp_path):
    pages, spoken = policies.write(tmp_path, {"KLUCB": "187"}), policies.said()
    for name, policy in policies.classes().items():
        page = pages[tmp_path / "policies" / f"{name}.md"]
        assert page.startswith(f"# {name}\n") and f"$$\n{spoken[name]['formula']}\n$$" in page
        assert f"{{py:class}} {policy.__module__.split('.')[0]}." in page and page.count("py:class}") == 1
        assert ("million rounds/s" in page) == (name == "KLUCB")
    listed = reference.write(tmp_path, policies.classes())[tmp_path / "reference" / "jaxbandit.policies.md"]
    assert "{py:class} jaxbandit.KLUCB" not in listed and "<jaxbandit.KLUCB>" in listed


def test_what_is_returned_is_a_paragraph(tmp_path):
    """Only what is named stands in a list: its names are single words, or several with commas between them."""
    text = "\n".join(reference.write(tmp_path).values())
    assert len(re.findall(r"^\*\*Returns\*\*\n\n[^-*\n]", text, re.MULTILINE)) > 15
    assert not re.search(r"^\*\*Returns\*\*\n\n- ", text, re.MULTILINE)
    names = re.findall(r"^- \*\*(.*?)\*\*:", text, re.MULTILINE)
    assert len(names) > 300 and not [name for name in names if not re.fullmatch(r"(\\?[*\w]+(, )?)+", name)]


def test_the_atlas_is_shown_whole(tmp_path):
    shown = "".join(named_problems.write(tmp_path).values())
    assert all(
        f"| `{name}` |" in shown and reference.words(each.purpose, {}) in shown
        for name, each in jaxbandit.atlas.items()
    )


def test_sources_are_listed_in_full():
    name, year = r"(?:Van )?[A-Z][\w-]+", r"(?:19|20)\d\d"
    names = rf"{name}(?:(?:, | and ){name})*(?: et al\.)?"
    listed = set(
        re.findall(rf"^- \*\*({names} {year})\*\*", (ROOT / "docs" / "references.md").read_text(), re.MULTILINE)
    )
    named = set()
    for file in (ROOT / "jaxbandit").rglob("*.py"):
        for source in re.findall(r"Source: (.*?)(?:\n\n|\Z)", file.read_text(), re.DOTALL):
            named |= set(re.findall(rf"{names} {year}", " ".join(source.split())))
    assert len(named) > 40 and named <= listed


def test_pages_run_what_they_show():
    """No page has code that nobody runs: Python stands in executed cells only."""
    for path in DOCS.rglob("*.md"):
        if "generated" not in path.parts:
            assert "```python\n" not in path.read_text(), path


def test_broken_links_and_formulas_are_named(tmp_path):
    pytest.importorskip("sphinx")
    from docs.making.links import broken

    (tmp_path / "there.html").write_text('<p id="here"><a href="#here">x</a><a href="https://example.org">y</a>')
    (tmp_path / "page.html").write_text(
        '<a href="there.html#here">a</a><a href="there.html#gone">b</a><a href="none.html">c</a>'
        '<script src="https://example.org/x.js"></script><img src="data:image/png;base64,"><img src="x.png">'
        r"<code>\frac</code><p>\frac{1}{2}</p>"
    )
    assert broken(tmp_path) == [
        "page.html loads https://example.org/x.js",
        r"page.html shows \frac{1}{2}",
        "page.html: no none.html",
        "page.html: no there.html#gone",
        "page.html: no x.png",
    ]


def test_the_site_is_built_as_the_readme_says():
    command = "python -m sphinx -W docs site"
    assert command in (ROOT / "README.md").read_text()
    for caller in (".ci/run", ".github/workflows/site.yml"):
        assert command.replace("sphinx", "sphinx -q") in (ROOT / caller).read_text()


def test_the_names_that_pages_offer_are_there():
    """`what_is_there.md` names what the library offers, and its arguments; every page names commands that there are."""
    offered = {name for room, names in DOORS.items() for name in [room, *names.split()]} | set(PUBLIC)
    for thing in PUBLIC_THINGS:
        methods = [getattr(thing, name) for name in vars(thing)] if isinstance(thing, type) else []
        for each in (thing, *methods):
            with suppress(TypeError, ValueError):  # what is no function
                offered |= set(inspect.signature(each).parameters)
        offered |= set(vars(thing)) if isinstance(thing, type) else set()
    code = re.findall(r"`(?:jaxbandit\.)?([A-Za-z_][\w.]*)", (DOCS / "how_to" / "what_is_there.md").read_text())
    named = {part for name in code if not name.startswith("jax.") for part in name.split(".")}
    assert len(named) > 90 and sorted(named - offered) == []
    for page in (*DOCS.rglob("*.md"), ROOT / "README.md"):
        assert set(re.findall(r"-m experiments\.(\w+)", page.read_text())) <= set(COMMANDS), page.name
