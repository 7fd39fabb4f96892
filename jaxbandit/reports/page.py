"""A report as one HTML page that needs nothing but itself: tables, pictures inside, no script."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from jaxbandit.reports.pictures import write_numbers
from jaxbandit.reports.tables import Row, Tables, put, text

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
/* a table that is wider than the page has a shadow at the end behind which it goes on */
.table { overflow-x: auto; margin: 1rem 0; background:
  linear-gradient(to right, #fff 50%, #fff0) left / 3rem 100% no-repeat local,
  linear-gradient(to left, #fff 50%, #fff0) right / 3rem 100% no-repeat local,
  linear-gradient(to right, #0004, #0000) left / 1rem 100% no-repeat scroll,
  linear-gradient(to left, #0004, #0000) right / 1rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: 0.82rem; }
th, td { padding: 0.25rem 0.6rem; text-align: left; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
th { border-bottom: 2px solid #999; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.holds { background: #d7e8f7; } td.fails { background: #f9dcc4; } td.open { background: #eee; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; }
details { border-bottom: 1px solid #ccc; } summary { padding: 0.6rem 0; font-weight: 600; cursor: pointer; }
figcaption { font-size: 0.9rem; color: #444; }
code, pre { background: #f4f4f4; padding: 0.1rem 0.3rem; } pre { padding: 0.6rem; overflow-x: auto; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; font-size: 15px; } h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; }
  th, td { padding: 0.2rem 0.4rem; }
}
"""
VERDICTS = {"holds": "holds", "does not hold": "fails", "undecided": "open"}


def heading(words: str, level: int = 2) -> str:
    return f"<h{level}>{html.escape(words)}</h{level}>"


def paragraph(words: str, kind: str = "text") -> str:
    """`kind` is its class: "when" is what differs between two reports on the same counts."""
    return f'<p class="{kind}">{html.escape(words)}</p>'


def command(line: str) -> str:
    return f"<pre>{html.escape(line)}</pre>"


def table(rows: list[Row]) -> str:
    """Rows with one header; numbers as in the printed tables, verdicts in words and on a colour."""

    def cell(column: str, value: str | float) -> str:
        kind = VERDICTS.get(value, "words") if isinstance(value, str) else "number"
        return f'<td class="{kind}">{html.escape(text(column, value))}</td>'

    head = "".join(f"<th>{html.escape(column)}</th>" for column in rows[0])
    body = "\n".join("<tr>" + "".join(cell(*item) for item in row.items()) + "</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def details(summary: str, parts: Iterable[str]) -> str:
    """Parts that are folded below a line, which opens them."""
    inside = "\n".join(parts)
    return f"<details><summary>{html.escape(summary)}</summary>\n{inside}\n</details>"


def titled(tables: Tables) -> list[str]:
    """Every table under its title."""
    return [part for title, rows in tables.values() for part in (heading(title, 3), table(rows))]


def picture(figure: Figure, name: str, caption: str) -> str:
    """A figure, inside the page."""
    write_numbers(figure)
    with io.BytesIO() as file:
        figure.savefig(file, format="png", dpi=110)
        data = base64.b64encode(file.getvalue()).decode()
    label, caption = html.escape(name), html.escape(caption)
    image = f'<img alt="{label}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption><b>{label}.</b> {caption}</figcaption></figure>"


def write(path: Path, title: str, parts: Iterable[str]) -> None:
    """The page, in one step."""
    small = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{small}<title>{html.escape(title)}</title><style>{STYLE}</style>'
    page = f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n<h1>{html.escape(title)}</h1>\n'
    put(path, page + "\n".join(parts) + "\n</body></html>\n")


class Report(NamedTuple):
    """What the page of an experiment has beside its tables."""

    title: str
    introduction: str
    captions: dict[str, tuple[str, str]]  # by the file name of a picture, its title and what is to be said of it


def write_report(
    folder: Path, report: Report, pictures: dict[str, Figure], sentences: list[str], tables: Tables
) -> None:
    """The page report.html of a folder: introduction, pictures, sentences, and every table."""
    figures = [picture(figure, *report.captions[name]) for name, figure in pictures.items()]
    parts = [paragraph(report.introduction), *figures, *map(paragraph, sentences), *titled(tables)]
    write(folder / "report.html", report.title, parts)
    print(f"report: {folder / 'report.html'}")
