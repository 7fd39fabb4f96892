"""The folder of an experiment: it holds one experiment with one set of settings, found out before the work starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.reports.tables import put


def prepare(out: str, name: str, settings: dict[str, Any]) -> Path:
    """The folder, new or that of an earlier run of the same settings, whole or stopped.

    Raises:
      ValueError: the folder cannot be written, or holds something else.
    """
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
