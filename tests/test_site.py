"""Pages, README and notebooks: what `sphinx -W` does not notice, which refuses warnings and broken references."""

import base64
import doctest
import inspect
import io
import re
from importlib import import_module

import jupytext
import nbformat
import pytest
from PIL import Image

import jaxbandit
from docs.making import ROOT, docstrings, policies
from docs.making.notebooks import FOLDER, differences, execute, printed

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = [path for path in (*DOCS.rglob("*.md"), ROOT / "README.md") if "generated" not in path.parts]
MODULES = sorted(path.stem for path in (DOCS / "making").glob("[!_]*.py"))
COMMANDS = {path.stem for path in (ROOT / "experiments").glob("*.py")}
# Counts are the same bits on processors of one kind. On another kind the last bit of a score may decide otherwise, and
# some run with a heavy tail go another way: numbers may be a tenth apart, words may not differ.
TOLERANCE = 0.1
LARGEST = 400_000  # bytes of a notebook, outputs included


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    if name == "mathml":
        pytest.importorskip("sphinx")
        pytest.importorskip("latex2mathml")
    assert doctest.testmod(import_module(f"docs.making.{name}")).failed == 0


def test_every_policy_has_a_page_with_its_formula(tmp_path):
    pages, words = policies.write(tmp_path, {"KLUCB": "187"}), policies.descriptions()
    for name in policies.classes():
        page = pages[tmp_path / "policies" / f"{name}.md"]
        assert page.startswith(f"# {name}\n") and f"$$\n{words[name]['formula']}\n$$" in page
        assert f".. autoclass:: jaxbandit.policies.{name}\n" in page
        assert ("million rounds/s" in page) == (name == "KLUCB")


def test_every_public_name_is_in_the_reference():
    entries = {f"jaxbandit.policies.{name}" for name in policies.classes()}
    for path in (DOCS / "reference").glob("*.md"):
        text = path.read_text()
        entries |= set(re.findall(r"^\.\. (?:auto\w+|py:data):: (jaxbandit\S*)$", text, re.MULTILINE))
        data = re.findall(r"^\.\. py:data:: (\w+)$", text, re.MULTILINE)
        entries |= {f"jaxbandit.{path.stem}.{name}" for name in data}
    for full in docstrings.places().values():
        module, _, name = full.rpartition(".")
        thing = getattr(import_module(module), name)
        of_module = module in entries - {"jaxbandit"} and (inspect.isclass(thing) or inspect.isfunction(thing))
        assert full in entries or of_module, full


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


@pytest.mark.slow
def test_python_of_the_readme_runs_and_draws_the_picture(tmp_path, monkeypatch):
    """As it stands, but for fewer runs of fewer rounds."""
    monkeypatch.chdir(tmp_path)
    python = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    assert python.count("runs=1000, horizon=10_000") == 2
    exec(python.replace("runs=1000, horizon=10_000", "runs=20, horizon=500"), {})
    with Image.open(DOCS / "pictures" / "regret.png") as committed, Image.open(tmp_path / "regret.png") as drawn:
        assert committed.size == drawn.size


def test_links_of_the_readme_lead_to_files_and_the_citation_names_this_version():
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert targets and [target for target in targets if not (ROOT / target).exists()] == []
    citation = dict(re.findall(r"^([a-z-]+): (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert citation["version"] == jaxbandit.__version__


def pictures(notebook):
    data = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return [Image.open(io.BytesIO(base64.b64decode(kinds["image/png"]))) for kinds in data if "image/png" in kinds]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_notebooks_are_in_sync_with_their_texts_and_small(name):
    path = FOLDER / f"{name}.ipynb"
    notebook, text = nbformat.read(path, as_version=4), jupytext.read(path.with_suffix(".py"))
    cells, same = ([(c.cell_type, c.source, c.metadata) for c in each.cells] for each in (notebook, text))
    assert cells == same, f"python -m docs.making.notebooks {name}"
    assert set(notebook.metadata) == {"jupytext", "kernelspec", "language_info"}
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert pictures(notebook) and all(750 <= picture.width <= 1900 for picture in pictures(notebook))
    assert path.stat().st_size <= LARGEST
    for output in (output for cell in code for output in cell.outputs):
        text = output.get("text", "") + str({**output.get("data", {}), "image/png": ""})
        assert not re.search(r"0x[0-9a-f]{6}|/tmp/|/home/|/root/", text)  # nothing that is another one each time


@pytest.mark.slow
def test_outputs_of_the_quickstart_are_what_its_text_gives():
    kept, now = nbformat.read(FOLDER / "quickstart.ipynb", as_version=4), execute("quickstart")
    assert differences(printed(kept), printed(now), TOLERANCE) == []
    assert [picture.size for picture in pictures(kept)] == [picture.size for picture in pictures(now)]
