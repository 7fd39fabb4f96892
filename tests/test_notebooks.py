"""Every notebook is kept with the outputs that its text gives, beside that text."""

import base64
import io
import re

import jupytext
import nbformat
import pytest
from PIL import Image

from docs.making import ROOT
from docs.making.notebooks import FOLDER, differences, execute, printed

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# Counts are the same bits on processors of one kind. On another kind the last bit of a score may decide otherwise, and
# some run with a heavy tail go another way: numbers may be a tenth apart, words may not differ.
TOLERANCE = 0.1
LARGEST = 400_000  # bytes of a notebook, outputs included


def pictures(notebook):
    data = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    return [Image.open(io.BytesIO(base64.b64decode(kinds["image/png"]))) for kinds in data if "image/png" in kinds]


def test_every_notebook_is_listed():
    listed = re.findall(r"\]\(generated/notebooks/(\w+)\.ipynb\)", (ROOT / "docs" / "notebooks.md").read_text())
    files = [path.name for path in FOLDER.iterdir() if path.suffix in (".ipynb", ".py")]
    assert sorted(files) == sorted(f"{name}.{kind}" for name in listed for kind in ("ipynb", "py"))


@each
def test_in_sync_with_its_text(path):
    notebook, text = nbformat.read(path, as_version=4), jupytext.read(path.with_suffix(".py"))
    cells, same = ([(c.cell_type, c.source, c.metadata) for c in each.cells] for each in (notebook, text))
    assert cells == same, f"python -m docs.making.notebooks {path.stem}"
    assert notebook.metadata["jupytext"]["formats"] == text.metadata["jupytext"]["formats"] == "ipynb,py:percent"
    assert set(notebook.metadata) == {"jupytext", "kernelspec", "language_info"}
    assert notebook.metadata["kernelspec"]["name"] == "python3"
    (sizes,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert re.fullmatch(r"runs = [\d_]+\nhorizon = [\d_]+", sizes.source)


@each
def test_outputs_are_kept_and_small(path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert pictures(notebook) and all(750 <= picture.width <= 1900 for picture in pictures(notebook))
    assert path.stat().st_size <= LARGEST
    for output in (output for cell in code for output in cell.outputs):
        text = output.get("text", "") + str({**output.get("data", {}), "image/png": ""})
        assert not re.search(r"0x[0-9a-f]{6}|/tmp/|/home/|/root/", text)  # nothing that is another one each time


@each
@pytest.mark.slow
def test_outputs_are_what_the_text_gives(path):
    kept, now = nbformat.read(path, as_version=4), execute(path.stem)
    assert differences(printed(kept), printed(now), TOLERANCE) == []
    assert [picture.size for picture in pictures(kept)] == [picture.size for picture in pictures(now)]
