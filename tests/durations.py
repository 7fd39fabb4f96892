"""The tests that durations.toml names as slow, and whether what it says follows from measured seconds.

On a machine that does nothing else:

pytest -n 2 -m "slow or not slow" --junit-xml=FILE
python -m tests.durations FILE

The exit status is 1 if a test that is not marked as slow took longer than 10 seconds.
"""

import argparse
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

LONG = 1.2  # seconds: a test that takes longer should have a mark
SHORT = 1.0  # a test with a mark that takes less needs none
MOST = 10.0  # without a mark


class Row(NamedTuple):
    kind: str  # slow or release
    test: str
    cases: str  # a pattern of ids; after an exclamation mark patterns of all others

    def fits(self, case: str) -> bool:
        if self.cases.startswith("!"):
            return not any(fnmatchcase(case, pattern) for pattern in self.cases[1:].split(","))
        return fnmatchcase(case, self.cases)


def rows() -> dict[str, list[Row]]:
    """What durations.toml says, by the name of the file: a row for every pattern of cases."""
    by_file: dict[str, list[Row]] = defaultdict(list)
    for kind, files in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items():
        for file, tests in files.items():
            for test, _, cases in (name.removesuffix("]").partition("[") for name in tests.split()):
                patterns = [cases] if cases.startswith("!") else cases.split(",") if cases else ["*"]
                by_file[file] += [Row(kind, f"test_{test}", pattern) for pattern in patterns]
    return by_file


class Case(NamedTuple):
    name: str
    seconds: float
    slow: bool

    @property
    def test(self) -> str:
        return self.name.partition("[")[0]


def read(file: Path) -> list[Case]:
    """The cases that a report tells of, but those that were skipped."""
    return [
        Case(
            f"{case.attrib['classname']}::{case.attrib['name']}",
            float(case.attrib["time"]),
            any(one.attrib["name"] == "slow" for one in case.iter("property")),
        )
        for case in ElementTree.parse(file).iter("testcase")
        if case.find("skipped") is None
    ]


def to_mark(cases: Iterable[Case]) -> list[Case]:
    """Cases without a mark that are slow, the slowest first."""
    return sorted((case for case in cases if not case.slow and case.seconds > LONG), key=lambda case: -case.seconds)


def to_unmark(cases: Iterable[Case]) -> list[tuple[str, float]]:
    """Tests none of whose marked cases is slow, and the most seconds that one of these took."""
    longest: dict[str, float] = defaultdict(float)
    for case in cases:
        if case.slow:
            longest[case.test] = max(longest[case.test], case.seconds)
    return sorted((test, seconds) for test, seconds in longest.items() if seconds < SHORT)


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.durations", description="Compare marks with measured durations.")
    parser.add_argument("report", type=Path, help="what pytest --junit-xml=FILE has written")
    cases = read(parser.parse_args().report)
    for case in to_mark(cases):
        print(f"{case.seconds:6.1f} s without a mark: {case.name}")
    for test, seconds in to_unmark(cases):
        print(f"{seconds:6.1f} s at most, and marked as slow: {test}")
    sys.exit(any(not case.slow and case.seconds > MOST for case in cases))


if __name__ == "__main__":
    main()
