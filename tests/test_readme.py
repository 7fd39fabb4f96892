"""The README's Python runs as it stands, its commands are those of CI, and it stays short."""

import re
import tomllib

import jax
import matplotlib.pyplot as plt
import pytest
from PIL import Image

import jaxbandit
from docs.making import ROOT, picture

README = (ROOT / "README.md").read_text()


def test_python_runs_and_draws_the_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(picture.lines(), {})
    plt.close("all")
    with Image.open(picture.PICTURE) as kept, Image.open(tmp_path / picture.PICTURE.name) as drawn:
        assert kept.size == drawn.size
    assert picture.PICTURE.stat().st_size < 80_000
    assert jax.config.jax_enable_x64 is False


def test_commands():
    for extra, command in (('".[test]"', "pytest"), (".", "experiments.scenario1")):
        line = f"python3 -m venv .venv && .venv/bin/pip install -e {extra} && .venv/bin/python -m {command}"
        assert f"\n{line}\n" in README


def test_it_is_short():
    assert len(README.splitlines()) <= 180
    assert len([line for line in picture.lines().splitlines() if line]) == 12


@pytest.mark.parametrize(
    "target", sorted({each for each in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in each})
)
def test_links_lead_to_files(target):
    assert (ROOT / target).exists()


def test_how_to_cite_names_this_version_and_place():
    said = dict(re.findall(r"^([a-z-]+): (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert said["version"] == jaxbandit.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert said["repository-code"] == project["urls"]["Repository"] and said["license"] == project["license"]
    assert all(f"<{url}>" in README for url in project["urls"].values())
