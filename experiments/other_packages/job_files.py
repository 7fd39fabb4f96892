"""What the scripts that another package's Python runs have in common: the request, and a file for each job.

A script finds this module beside itself, under the name `job_files`. So it imports the standard library alone.
"""

import json
import os
import signal
import sys
from pathlib import Path


def asked():
    """The request and the folder that the command line names: `python SCRIPT REQUEST FOLDER`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends at once and without a word; what is written is whole
    request, folder = sys.argv[1:]
    return json.loads(Path(request).read_text()), Path(folder)


def write(path, contents):
    """The file as a whole or not at all."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(contents))
    os.replace(unfinished, path)


def play_all(request, folder, play):
    """Play the jobs that have no file yet.

    `play(job)` returns what the file is to hold, with the "seconds" that one processor spent.
    """
    for job in request["jobs"]:
        path = folder / f"{job['name']}.json"
        if not path.exists():
            write(path, found := play(job))
            first, end = job["runs"]
            speed = (end - first) * request["horizon"] / max(found["seconds"], 1e-9)
            print(f"  {job['name']}: {speed:,.0f} rounds/s", flush=True)
