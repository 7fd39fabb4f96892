"""README's Python runs as it stands, its commands are those of CI, and it stays short."""

import re
import tomllib
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import pytest
from PIL import Image

import jaxbandit

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
def test_python_runs_and_draws_the_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec("\n".join(PYTHON), {})
    plt.close("all")
    kept = ROOT / "docs" / "pictures" / "regret.png"
    with Image.open(kept) as committed, Image.open(tmp_path / kept.name) as drawn:
        assert committed.size == drawn.size
    assert kept.stat().st_size < 80_000
    assert jax.config.jax_enable_x64 is False


def test_commands():
    for extra, command in (('".[test]"', "pytest"), (".", "experiments.scenario1")):
        line = f"python3 -m venv .venv && .venv/bin/pip install -e {extra} && .venv/bin/python -m {command}"
        assert f"\n{line}\n" in README


def test_it_is_short():
    assert len(README.splitlines()) <= 120
    assert len([line for line in PYTHON[0].splitlines() if line]) == 12


def test_links_lead_to_files():
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert targets and [target for target in targets if not (ROOT / target).exists()] == []


def test_how_to_cite_names_this_version_and_place():
    citation = dict(re.findall(r"^([a-z-]+): (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert citation["version"] == jaxbandit.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["repository-code"] == project["urls"]["Repository"] and citation["license"] == project["license"]
    assert all(f"<{url}>" in README for url in project["urls"].values())
