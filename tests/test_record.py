"""What a policy thinks, recorded: the same bits however the work is cut, in files, sweeps and named axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import TVKLUCB, UCBSM, simulate, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")
POLICIES = {"tv": [TVKLUCB(scale=scale) for scale in (0.3, 1.0)], "ucb": UCBSM()}


judged = lambda arms, state, t, policy: policy.markovian(state, t + 1)
plays = lambda arms, state, t: arms.plays
mean = lambda arms, state, t: (jax.tree.leaves(state)[0].sum() / t).astype(jnp.float32)  # counts are the first leaf
RECORD = {"Markovian": {"tv": judged}, "plays": plays, "share": {"ucb": mean, "tv": mean}}
COMMON = {"key": jax.random.key(5), "runs": 23, "horizon": 60, "times": [1, 7, 31, 60], "record": RECORD}


@pytest.fixture(scope="module")
def result():
    return simulate({"a": ARMS, "b": OTHER}, POLICIES, **COMMON)


@pytest.mark.slow
def test_shapes_types_and_values(result):
    answer = {name: {label: (a.shape, a.dtype) for label, a in of.items()} for name, of in result.recorded.items()}
    assert answer == {
        "Markovian": {"tv": ((2, 2, 23, 4, 3), bool)},
        "plays": {"tv": ((2, 2, 23, 4, 3), np.uint32), "ucb": ((2, 1, 23, 4, 3), np.uint32)},
        "share": {"tv": ((2, 2, 23, 4), np.float32), "ucb": ((2, 1, 23, 4), np.float32)},
    }
    for label in result.labels:
        np.testing.assert_array_equal(result.recorded["plays"][label], result.visits[label].sum(-1))
        np.testing.assert_array_equal(result.recorded["share"][label], 1)
    dataset = result.to_xarray()
    assert dataset.Markovian.dims == ("scenario", "policy", "run", "time", "arm") and dataset.plays.dtype == np.uint32
    assert dataset.Markovian.dtype == float and np.isnan(dataset.Markovian.sel(policy="ucb")).all()
    np.testing.assert_array_equal(dataset.Markovian.sel(policy="tv"), result.recorded["Markovian"]["tv"])


@pytest.mark.slow
def test_what_is_recorded_is_what_the_policy_says_by_hand(result):
    """One run of each variant, played round by round without the simulator."""
    chance = jaxbandit.run_keys(COMMON["key"], jnp.arange(23, dtype=jnp.int32))
    for v, policy in enumerate(POLICIES["tv"]):
        carry = jaxbandit.initial_carry(OTHER, policy, chance)
        for first, last, slot in ((1, 1, 0), (2, 7, 1), (8, 31, 2), (32, 60, 3)):
            carry, _ = jaxbandit.advance(OTHER, policy, chance, carry, first, last - first + 1)
            answer = jax.vmap(lambda state, p=policy, t=last: p.markovian(state, t + 1), in_axes=-1)(carry.policy)
            np.testing.assert_array_equal(result.recorded["Markovian"]["tv"][1, v, :, slot], answer)
    assert 0 < result.recorded["Markovian"]["tv"].mean() < 1


def test_with_orders_the_recorder_sees_the_policy_of_its_run():
    """An oracle in every run's own order: the policy that is handed over plays the best arm."""
    record = {"best": lambda arms, state, t, policy: jnp.argmax(policy.means)}
    oracle = {"o": jaxbandit.Oracle(ARMS.means())}
    result = simulate(ARMS, oracle, runs=20, horizon=5, times=[5], shuffle=True, record=record)
    assert len(np.unique(result.recorded["best"]["o"])) > 1


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"a/b": plays}, "record: the name 'a/b' is not a text without"),
        ({"x": lambda arms, state, t: arms.plays.astype(jnp.bfloat16)}, r"record\['x'\]: returns bfloat16"),
        ({"x": {"zz": plays}}, r"record\['x'\]: 'zz' is not a policy; there are tv, ucb"),
        ({"x": lambda state: state}, r"record\['x'\]: the function takes \(state\)"),
        ({"x": judged}, r"record\['x'\]: it fails on the state of 'ucb'"),
        ({"x": lambda arms, state, t: (t, t)}, r"record\['x'\]: returns tuple for 'tv', not one array"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_anything_is_played(record, words):
    with pytest.raises(ValueError, match=words):
        simulate(ARMS, POLICIES, runs=2, horizon=10, record=record)
