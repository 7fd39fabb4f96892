"""How an experiment goes, in this order: begin, play, finish.

What cannot be played is refused before a folder is touched. The folder holds one experiment with one set of settings,
so that the same command continues what was stopped. Then tables are printed and written, and pictures saved.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jaxbandit
from jaxbandit import Result
from jaxbandit.reports.page import Report, write_report
from jaxbandit.reports.pictures import Pictures, save
from jaxbandit.reports.tables import Tables, publish, put
from jaxbandit.simulation.asking.request import check
from jaxbandit.texts import filled

Cases = Mapping[Any, Mapping[str, Any]]


def check_cases(cases: Cases) -> None:
    """Raise ValueError unless all of it can be simulated."""
    for options in cases.values():
        check(**options)


def begin(
    name: str, settings: Any, cases: Cases, default: str = "", fixed: Iterable[str] | None = None, grows: bool = False
) -> Path:
    """Check the cases, then take the folder `--out`.

    Args:
      name: of the experiment.
      settings: its options, a dataclass with `out`.
      cases: none where the experiment plays by itself.
      default: folder where `--out` is not given; if empty, that of the experiment, its runs, horizon and seed.
      fixed: the options that may not change in a folder; if None, all but `out`.
      grows: whether runs may become more, so that horizon and seed alone are fixed and the default folder lacks runs.
    """
    check_cases(cases)
    if grows:
        default, fixed = f"results/{name}/{settings.horizon}-seed{settings.seed}", ("horizon", "seed")
    asked = dataclasses.asdict(settings)
    asked.pop("quick", None)  # what it stands for is among the others
    out = asked.pop("out") or default or settings.default_folder(name)
    return _prepare(out, name, asked if fixed is None else {option: asked[option] for option in fixed})


def play(cases: Cases, folder: Path) -> dict[str, Result]:
    """Sweep the cases into folder/counts; what is there continues."""
    return jaxbandit.sweep(cases, counts_of(folder))


def counts_of(folder: Path) -> Path:
    """Where an experiment's counts are kept; says so where there are some already."""
    if (counts := folder / "counts").exists():
        print("continuing with what is done already", flush=True)
    return counts


def _prepare(out: str, name: str, settings: dict[str, Any]) -> Path:
    """The folder, new or that of an earlier run of the same settings, whole or stopped."""
    folder = Path(out)
    wanted = json.loads(json.dumps({"experiment": name, **settings}))  # as it will be read: a tuple becomes a list
    record = folder / "settings.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        contents = [path.name for path in folder.iterdir()]
        (probe := folder / ".writable").touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"--out {out}: cannot be written ({error.strerror}); choose another folder") from error
    if contents and record.name not in contents:
        raise ValueError(f"--out {out}: holds files of something else; choose an empty or new folder")
    if contents:
        try:
            recorded = json.loads(record.read_text())
            if not isinstance(recorded, dict):
                raise TypeError("no settings")
        except (OSError, TypeError, ValueError) as error:
            raise ValueError(f"--out {out}: settings.json is damaged; choose another folder or delete it") from error
        for field in sorted(wanted.keys() | recorded.keys()):
            if wanted.get(field) != recorded.get(field):
                raise ValueError(
                    f"--out {out}: holds {field} = {recorded.get(field)!r}, this is {wanted.get(field)!r}; "
                    "choose another folder"
                )
    else:
        put(record, json.dumps(wanted, indent=2) + "\n")
    return folder


def begin_and_play(name: str, settings: Any, cases: Cases, **kind: Any) -> tuple[Path, dict[str, Result]]:
    """The folder and the results; `kind` is what else `begin` takes."""
    folder = begin(name, settings, cases, **kind)
    return folder, play(cases, folder)


def finish(
    folder: Path,
    tables: Tables,
    pictures: Pictures = (),
    words: str = "",
    speed: str = "",
    report: Report | None = None,
) -> None:
    """Print and write the tables, say `words` below them, save the pictures, and say where everything is.

    With a report all of it stands on a page as well, a paragraph for each line of the words.
    """
    publish(tables, folder)
    if words:
        print(f"\n{filled(words)}")
    if report:
        pictures = dict(pictures).items()
        write_report(folder, report, dict(pictures), words.split("\n") if words else [], tables)
    for name, figure in pictures:
        save(figure, folder / name)
    print(f"\n{speed}written to {folder}/")
