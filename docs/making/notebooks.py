"""Execute notebooks and keep their outputs: `python -m docs.making.notebooks NAME ..`, all without a name.

A notebook's text is `notebooks/NAME.py`; NAME.ipynb has the same cells with outputs. Pictures have few colours, which
keeps their files small.
"""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from PIL import Image

from docs.making import ROOT

FOLDER = ROOT / "notebooks"
STYLE = "figure.dpi: 140\n"  # of Matplotlib, whose default is 100: small letters stay sharp
COLOURS = 64  # of a picture, which keeps its file small
WIDGET = "application/vnd.jupyter.widget-view+json"
TEMPORARY = re.compile(re.escape(tempfile.gettempdir()) + r"/tmp\w+")  # a folder of the notebook's own
TIME = re.compile(r"\d+(\.\d+)? (s|seconds|ms)\b")  # what no two calls share
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def execute(name: str) -> nbformat.NotebookNode:
    """The notebook as its text has it, executed in a folder with nothing but the data that lie beside notebooks."""
    notebook = jupytext.read(FOLDER / f"{name}.py")
    with tempfile.TemporaryDirectory() as folder:
        style = Path(folder, "matplotlibrc")
        style.write_text(STYLE)
        data = [Path(shutil.copy(path, folder)) for path in FOLDER.glob("*.csv")]
        python_path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": python_path, "MATPLOTLIBRC": str(style)}
        client = NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False)
        client.resources = {"metadata": {"path": folder}}
        client.execute(env=environment)
        for path in (style, *data):
            path.unlink()
        if left := [path.name for path in Path(folder).iterdir()]:
            raise ValueError(f"notebooks/{name}.py leaves {left} behind; it should write to a folder of `tempfile`")
    return tidy(notebook, folder)


def tidy(notebook: nbformat.NotebookNode, folder: str) -> nbformat.NotebookNode:
    """The notebook without what is another each time: versions, random names, progress bars, the folder's name."""
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata.pop("widgets", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    for number, cell in enumerate(cell for cell in notebook.cells if cell.cell_type == "code"):
        cell.execution_count = number + 1
        outputs = [o for o in cell.outputs if o.get("name") != "stderr" and WIDGET not in o.get("data", {})]
        cell.outputs = [_kept(output, folder) for output in outputs]
    return notebook


def _kept(output: nbformat.NotebookNode, folder: str) -> nbformat.NotebookNode:
    """An output with a smaller picture."""
    if "text" in output:
        output.text = TEMPORARY.sub("FOLDER", output.text.replace(f"{folder}/", ""))
    if data := output.get("data", {}).get("image/png"):
        with io.BytesIO() as file:
            picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB").quantize(COLOURS)
            picture.save(file, "png", optimize=True)
            output.data["image/png"] = base64.b64encode(file.getvalue()).decode()
        output.data.pop("text/plain", None)  # the size of the figure
    return output


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell prints, without times; what it shows is written as the versions of other packages have it."""
    texts = [
        "".join(output.text for output in cell.get("outputs", []) if output.output_type == "stream")
        for cell in notebook.cells
    ]
    return [TIME.sub("", text).rstrip() for text in texts if text]


def differences(kept: list[str], now: list[str], tolerance: float) -> list[str]:
    """Where two lists of texts have other words, or numbers further apart than this share of the larger one.

    Numbers that differ by no more than one in their last digit are the same.

    >>> differences(["mean 10.0, 3 runs"], ["mean 10.4, 3 runs"], 0.05)
    []
    >>> differences(["mean 10.0, 3 runs"], ["mean 10.9, 5 runs"], 0.05)
    ['10.0 is now 10.9', '3 is now 5']
    >>> differences(["mean 10"], ["median 10"], 0.05)
    ['mean 10 is now median 10']
    """
    if len(kept) != len(now):
        return [f"{len(kept)} texts are now {len(now)}"]
    changes = []
    for before, after in zip(kept, now):
        words = [" ".join(NUMBER.sub("#", text).split()) for text in (before, after)]
        if words[0] != words[1]:
            changes.append(f"{before} is now {after}")
            continue
        for old, new in zip(NUMBER.findall(before), NUMBER.findall(after)):
            x, y = (float(number.replace(",", "")) for number in (old, new))
            digits = len(old.partition(".")[2]) if "e" not in old else 0
            if abs(x - y) > max(tolerance * max(abs(x), abs(y)), 1.01 * 10**-digits):
                changes.append(f"{old} is now {new}")
    return changes


def write(name: str) -> None:
    """Execute the notebook and keep it with its outputs."""
    nbformat.write(execute(name), FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.py")):
        write(name)
        print(f"notebooks/{name}.ipynb", flush=True)
