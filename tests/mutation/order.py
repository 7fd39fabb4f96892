"""A plugin of pytest for the tests of one mutant: those first that find it in least time, and each has a time limit."""

import json
import os
import threading
from pathlib import Path

import pytest

ASKED = json.loads(Path(os.environ["MUTATION_ASKED"]).read_text()) if "MUTATION_ASKED" in os.environ else None
SLOWER = 10  # times the time that a test took once
AT_LEAST = {False: 60, True: 600}  # seconds, of a test and of one that is known to be slow
# times are those of processors: the machine may have much else to do
told: dict[str, dict | str | bool] = {"seconds": {}, "by": "", "late": False}


def spent() -> float:
    """Seconds that processors have worked for this process, and for its children that have ended."""
    return sum(os.times()[:4])


def tell() -> None:
    Path(ASKED["answer"]).write_text(json.dumps(told))


def is_asked(name: str) -> bool:
    """Whether a file's row in `holders.toml` asks for a test: for all, or for those with a word in their names."""
    file, _, test = name.partition("::")
    words = ASKED["words"].get(file)
    return not words or any(word.lower() in test.lower() for word in words)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if ASKED is None:
        return
    first = {name: place for place, name in enumerate(ASKED["first"])}

    def place(item):
        slow = item.get_closest_marker("slow") is not None
        own = item.nodeid.startswith(ASKED["module"])
        found = first.get(item.nodeid, len(first))
        return found, not own, slow, ASKED["seconds"].get(item.nodeid, 30 if slow else 1)

    items[:] = sorted((item for item in items if is_asked(item.nodeid)), key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    if ASKED is None:
        return (yield)
    slow = item.get_closest_marker("slow") is not None
    limit = max(AT_LEAST[slow], SLOWER * ASKED["seconds"].get(item.nodeid, 0))
    began, done = spent(), threading.Event()

    def watch():
        while not done.wait(1):
            if spent() - began > limit:
                told["by"] = item.nodeid
                told["late"] = True
                tell()
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        return (yield)
    finally:
        done.set()
        if not told["by"]:
            told["seconds"][item.nodeid] = round(spent() - began, 2)


def pytest_runtest_logreport(report):
    if report.failed:
        told["by"] = told["by"] or report.nodeid


def pytest_collectreport(report):
    if report.failed:
        told["by"] = told["by"] or f"{report.nodeid} (not imported)"


def pytest_sessionfinish(session, exitstatus):
    if ASKED is not None and not hasattr(session.config, "workerinput"):
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
        tell()
