"""What the job files have in common; each finds this module beside itself.

`python JOB_FILE JOBS FOLDER` plays a list of jobs. A job has a "name", the name of a "policy", its "arguments", the
"horizon", the "seed" and the numbers of its "runs", [first, end]. It also has either the "means" of arms and the
"deviation" of Gaussian ones (null: Bernoulli), or a decision process: "moves" [action][state][next state], "reward"
[action][state] and the "best" gain. FOLDER/NAME.json then holds the job, the "regret" of each run and the "seconds"
that one processor took. A job that has this file is not played again.
"""

import json
import os
import random
import signal
import sys
import time
import zlib
from pathlib import Path

import numpy as np


def play_all(prepare):
    """Play all jobs; `prepare(job)` returns a function of the rounds and of random words that returns regret."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the process without a traceback; files are whole
    jobs, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    for job in jobs:
        path = folder / f"{job['name']}.json"
        if path.exists():
            continue
        play = prepare(job)
        play(50, np.zeros(8, np.uint32))  # what numba compiles is compiled before the time is taken
        regret, began = [], time.process_time()
        for run in range(*job["runs"]):
            what = {key: value for key, value in job.items() if key not in ("name", "runs", "seed")}
            entropy = [job["seed"], zlib.crc32(json.dumps(what).encode()), run]
            words = np.random.SeedSequence(entropy).generate_state(8)
            np.random.seed(words)  # noqa: NPY002
            random.seed(int(words[0]))
            regret.append(float(play(job["horizon"], words)))
        seconds = time.process_time() - began
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps({"job": job, "regret": regret, "seconds": seconds}))
        os.replace(unfinished, path)
        print(f"  {job['name']}: {len(regret) * job['horizon'] / max(seconds, 1e-9):,.0f} rounds/s", flush=True)
