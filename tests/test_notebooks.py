"""Every notebook runs from top to bottom with tiny sizes, and is kept without outputs beside the same cells as text."""

import re
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def sizes(notebook):
    """The one cell that says how much is played."""
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert re.fullmatch(r"runs = [\d_]+\nhorizon = [\d_]+", cell.source)
    return cell


def test_every_notebook_is_listed():
    listed = re.findall(r"\]\(notebooks/(\w+)\.ipynb\)", (ROOT / "README.md").read_text())
    files = [path.name for path in (ROOT / "notebooks").iterdir() if path.suffix in (".ipynb", ".py")]
    assert sorted(files) == sorted(f"{name}.{kind}" for name in listed for kind in ("ipynb", "py"))


@each
def test_stripped_and_in_sync(path):
    notebook, text = nbformat.read(path, as_version=4), jupytext.read(path.with_suffix(".py"))
    cells, same = ([(c.cell_type, c.source, c.metadata) for c in each.cells] for each in (notebook, text))
    assert cells == same, f"jupytext --to ipynb notebooks/{path.stem}.py"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code) and all(cell.execution_count is None for cell in code)
    assert notebook.metadata["jupytext"]["formats"] == text.metadata["jupytext"]["formats"] == "ipynb,py:percent"
    assert set(notebook.metadata) == {"jupytext", "kernelspec"}
    assert notebook.metadata["kernelspec"]["name"] == "python3"


@pytest.mark.slow
@each
def test_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the kernel starts in another folder
    notebook = nbformat.read(path, as_version=4)
    sizes(notebook).source = "runs = 200\nhorizon = 200"
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    pictures = [o for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert pictures
