"""No link of the site leads to nothing, and no page asks the network for anything."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what a browser loads for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)


def broken(folder: Path) -> list[str]:
    """A line for every link in `folder` that leads to no file or no anchor, and for all that is loaded from afar."""
    pages = {path.resolve(): Page(path.read_text()) for path in folder.rglob("*.html")}
    found = []
    for path, page in pages.items():
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
        raise SphinxError("links of the site:\n" + "\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
