"""The README's Python runs as it stands, and its commands are those of CI."""

import re
import shutil
from pathlib import Path

import jax
import matplotlib.pyplot as plt

import jaxbandit

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_python_blocks_run():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    shape = re.search(r"visits\[.*\]\.shape  # (\(.*\)):", README).group(1)
    assert str(names["result"].visits["TV-KL-UCB"].shape) == shape
    jaxbandit.testing.check_policy(names["Greedy"]())
    assert len(names["results"]) == 6 and names["table"].shape == (2, 3)
    shutil.rmtree(names["folder"])
    plt.close("all")
    assert jax.config.jax_enable_x64 is False


def test_commands():
    for extra, command in (('".[test]"', "pytest"), (".", "experiments.scenario1")):
        line = f"python3 -m venv .venv && .venv/bin/pip install -e {extra} && .venv/bin/python -m {command}"
        assert f"\n{line}\n" in README
