"""Draw README's picture again, from README's own lines: `python -m docs.making.picture`."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path

from PIL import Image

from docs.making import ROOT

PICTURE = ROOT / "docs" / "pictures" / "regret.png"


def lines() -> str:
    """The Python of the README, which draws its picture as `regret.png` in the present folder."""
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return block


def draw() -> Path:
    """Play README's lines and keep their picture, in few colours for a small file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(lines(), {})
        PICTURE.parent.mkdir(exist_ok=True)
        with Image.open(Path(folder, PICTURE.name)) as drawn:
            drawn.convert("RGB").quantize(64).save(PICTURE, optimize=True)
    return PICTURE


if __name__ == "__main__":
    print(draw())
