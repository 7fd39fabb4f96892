"""The data of the notebook on calls: `python -m docs.making.calls` writes notebooks/calls.csv."""

from __future__ import annotations

import random

from docs.making import ROOT

FILE = ROOT / "notebooks" / "calls.csv"

STATES = ("engaged", "at risk", "lost")
WEEKS, CALLS, PERSONS = 26, 12, 20  # weeks observed, calls in each week, people of each clinic
# in per cent, the moves from each state to all three, without a call and after one; made up
MOVES = {
    "harbour": (((30, 65, 5), (5, 45, 50), (0, 30, 70)), ((40, 58, 2), (80, 18, 2), (5, 40, 55))),
    "hill": (((92, 8, 0), (5, 60, 35), (0, 10, 90)), ((95, 5, 0), (40, 55, 5), (0, 35, 65))),
    "north": (((70, 30, 0), (15, 60, 25), (2, 20, 78)), ((72, 28, 0), (25, 60, 15), (2, 25, 73))),
}


def generate() -> str:
    """The text of the file: every week 12 of 60 people, chosen at random, are called.

    Python promises the same numbers from `random.Random(seed).random()` in every version.

    >>> generate().splitlines()[:2]
    ['person,clinic,week,state,called,next_state', '1,harbour,1,engaged,0,at risk']
    >>> generate() == FILE.read_text()
    True
    """
    uniform = random.Random(0).random
    clinics = [clinic for clinic in MOVES for _ in range(PERSONS)]
    states = [0 for _ in clinics]
    lines = ["person,clinic,week,state,called,next_state"]
    for week in range(1, WEEKS + 1):
        lots = [uniform() for _ in clinics]
        last = sorted(lots)[CALLS]
        for person, clinic in enumerate(clinics):
            called = int(lots[person] < last)
            stays, falls, _ = MOVES[clinic][called][states[person]]
            lot = 100 * uniform()
            following = int(lot >= stays) + int(lot >= stays + falls)
            lines.append(f"{person + 1},{clinic},{week},{STATES[states[person]]},{called},{STATES[following]}")
            states[person] = following
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(generate())
