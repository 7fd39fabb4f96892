"""How the work is cut: no tile without a run, whatever the sizes."""

import math
import subprocess
import sys

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandit import TVKLUCB, Thompson, Uniform, bernoulli, simulate, two_state
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.plan import VECTOR, cut, few_widths, make_plan
from jaxbandit.simulation.telling import free_memory


@settings(max_examples=500, deadline=None)
@given(runs=st.integers(1, 3_000_000), devices=st.integers(1, 64), tile=st.integers(1, 200_000))
def test_every_tile_has_a_run_and_every_run_a_tile(runs, devices, tile):
    devices = min(devices, runs)
    tiles, width = cut(runs, devices, tile)
    assert (tiles - 1) * width < runs <= tiles * width
    assert width % devices == 0
    assert width // devices <= tile


@settings(max_examples=500, deadline=None)
@given(runs=st.integers(1, 3_000_000), most=st.sampled_from([256, 341, 512, 1365, 2048, 5120]))
def test_few_widths(runs, most):
    """At most 10 of them, none beyond the cache; twice the runs at most, and of many runs 40 % more at most."""
    width = few_widths(runs, most)
    assert width == 1 if runs == 1 else width in [VECTOR << n for n in range(9)]
    assert width <= most
    played = math.ceil(runs / width) * width
    assert played < 2 * max(runs, 9)
    assert runs < 512 or played <= 1.4 * runs


@pytest.mark.slow
def test_runs_played_in_blocks_are_those_played_at_once():
    """1,500 runs on one device, in blocks of 128, and at once: counts and what is recorded."""
    arms = two_state([0.5, 0.3], [0.4, 0.65])
    request = check(arms, {"tv": TVKLUCB()}, runs=1500, horizon=90, times=[90])
    plan = make_plan(request, None, None, jax.devices()[:1])
    assert plan.blocks == plan.width // 128 > 1
    asked = {"runs": 1500, "horizon": 90, "times": [7, 40, 90], "chunk": 30, "devices": jax.devices()[:1]}
    seen = {"states": lambda environment, policy, t, own: environment.states.sum()}
    blocks, once = (
        simulate(arms, {"tv": TVKLUCB(), "t": Thompson()}, tile=tile, record=seen, progress=False, **asked)
        for tile in (None, 1500)
    )
    for label in ("tv", "t"):
        np.testing.assert_array_equal(blocks.visits[label], once.visits[label])
        np.testing.assert_array_equal(blocks.recorded["states"][label], once.recorded["states"][label])


HUGE = """
import resource, sys
import jax, jaxbandit
from jaxbandit.simulation.telling import free_memory
arms = jaxbandit.random_arms(jax.random.key(0), 20, 2)
asked = dict(scenarios=arms, policies={"U": jaxbandit.Uniform()})
jaxbandit.simulate(**asked, runs=64, horizon=5, times=[5])  # what JAX itself takes
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
for runs in (10**7, 10**8):
    for play in (lambda: jaxbandit.simulate(**asked, runs=runs),
                 lambda: jaxbandit.sweep({"c": asked | {"runs": runs}}, sys.argv[1])):
        try:
            play()
        except ValueError as error:
            print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_refused_with_its_numbers(tmp_path):
    """In a process that may have one GiB more than it has: refused before anything is allocated or written."""
    command = [sys.executable, "-c", HUGE, str(tmp_path / "s")]
    played = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = played.stdout.splitlines()
    assert played.returncode == 0 and len(lines) == 4, played.stderr[-800:]
    assert lines[0].startswith("runs: 10,000,000 runs x ") and " x 20 arms x 2 states x " in lines[0]
    assert "record fewer rounds (times=[horizon])" in lines[0] and "block=" in lines[0]
    assert lines[1].startswith("cases: 10,000,000 runs") and lines[3].startswith("cases: 100,000,000 runs")
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_the_estimate_is_what_a_result_takes():
    arms = bernoulli([0.5, 0.4, 0.3])
    policies = {"tv": [TVKLUCB(), TVKLUCB(scale=2.0)], "u": Uniform()}
    record = {"t": lambda environment, state, t: t}
    request = check({"a": arms, "b": arms}, policies, runs=7, horizon=30, times=[3, 30], record=record)
    result = simulate({"a": arms, "b": arms}, policies, runs=7, horizon=30, times=[3, 30], record=record)
    arrays = [*result.visits.values(), *result.recorded["t"].values()]
    assert free_memory.bytes_of_result(request) == sum(array.nbytes for array in arrays)
    carried = sum(leaf.nbytes for leaves in result.carry.values() for leaf in leaves)
    assert free_memory.bytes_carried(request) == 2 * carried
    assert 2**20 < free_memory.free_bytes() < 2**50
