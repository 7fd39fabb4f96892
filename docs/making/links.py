"""No link of the site leads to nothing, no page asks the network for anything, and no formula stays as it was typed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

AS_TYPED = {"pre", "code", "script", "style", "title"}
TEX = re.compile(r"\\(?:frac|mathrm|qquad|text|sum|hat|le|ge)\b|^\$\$$")
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what a browser loads for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.formulas: list[str] = []  # that were not drawn
        self.inside: list[str] = []  # tags whose text is shown as it was typed
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += [tag] if tag in AS_TYPED else []
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside and TEX.search(data.strip()):
            self.formulas.append(data.strip())


def broken(folder: Path) -> list[str]:
    """A line for every link in `folder` that leads to no file or anchor, what is loaded from afar, formulas in TeX."""
    pages = {path.resolve(): Page(path.read_text()) for path in folder.rglob("*.html")}
    found = []
    for path, page in pages.items():
        found += [f"{path.relative_to(folder.resolve())} shows {formula}" for formula in page.formulas]
        for link in page.links + page.loaded:
            address = urlsplit(link)
            name = path.relative_to(folder.resolve())
            if address.scheme == "data":
                continue
            if address.scheme or address.netloc:
                found += [f"{name} loads {link}"] if link in page.loaded else []
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchors = pages[target].anchors if target in pages else set()
            if not target.is_file() or (address.fragment and unquote(address.fragment) not in anchors):
                found.append(f"{name}: no {link}")
    return sorted(set(found))


def _check(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html" and (lines := broken(Path(app.outdir))):
        raise SphinxError("broken:\n" + "\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
