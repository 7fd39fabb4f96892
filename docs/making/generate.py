"""Everything that is written before the site is built, into a folder that git ignores."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from docs.making import ROOT, at_a_glance, measured, named_problems, policies


def code() -> str:
    """A short name for the text of all that pages import: another one where a line has changed."""
    files = sorted(path for room in ("jaxbandit", "experiments", "docs/making") for path in (ROOT / room).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def write(folder: Path, build: Path) -> None:
    """Write every generated file whose text has changed, and delete those that are no longer made."""
    copies = {folder / "notebooks" / path.name: path for path in (ROOT / "notebooks").glob("*.ipynb")}
    paper, pictures = measured.paper(folder, build)
    copies |= pictures
    texts = policies.write(folder, measured.speeds()) | paper | named_problems.write(folder) | at_a_glance.write(folder)
    texts[folder / "parts" / "accuracy.md"] = measured.accuracy()
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path, source in copies.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != source.read_bytes():
            shutil.copyfile(source, path)
    for path in folder.rglob("*"):
        if path.is_file() and path not in texts and path not in copies:
            path.unlink()
