"""Rewards of any size: what policies see of them, and what users read of them."""

import numpy as np
import pytest

import jaxbandit
from jaxbandit import environments, families, live, members, metrics
from jaxbandit.policies import BernoulliGLR, Blocks, Identify, RescorlaWagner, TopTwo
from jaxbandit.reward_units import check_distinct
from jaxbandit.simulation.asking.policy_units import seen_environments, units_of
from tests.every_policy import POLICIES

ROWS = np.array([[[0.7, 0.3]] * 2, [[0.3, 0.7]] * 2])
ENDS = {"zero": (0, 1), "float32": (2**24, 2**24 + 1), "tiny": (5, 5 + 1e-9), "huge": (-1e12, 1e12)}
SCENARIOS = {name: jaxbandit.markov(ROWS, ends) for name, ends in ENDS.items()}
MAPPED = [name for name, (policy, _) in POLICIES.items() if members.units(policy) == "mapped"]


def test_who_is_shown_other_units():
    assert len(MAPPED) > 40
    for family, units in ((None, "mapped"), (families.Gaussian(), "shifted"), (families.Poisson(), "own")):
        assert members.units(jaxbandit.KLUCB(family=family)) == units
    assert members.units(RescorlaWagner(0.1, 1.0)) == members.units(POLICIES["Whittle"][0]) == "own"
    assert members.units(Identify(RescorlaWagner(0.1, 1.0))) == "own"
    assert members.units(jaxbandit.WithDetector(jaxbandit.UCB1(), jaxbandit.GLR(horizon=9))) == "mapped"


@pytest.mark.parametrize("name", {id(POLICIES[name][1]): name for name in MAPPED}.values())  # one for each kind of arms
def test_a_policy_sees_the_same_numbers_in_every_unit(name):
    """Its arms with rewards in units of 1e-9 to 1e12, up to 10,000 of them away from 0: the same numbers in float32."""
    policy, arms = POLICIES[name]
    random, every = np.random.default_rng(0), {"unit": arms}
    for scale in 10.0 ** random.uniform(-9, 12, 8):
        low = scale * 10 ** random.uniform(0, 4) * (random.choice([-1, 1]) if scale > 1 else -1)  # not within [0, 1]
        every[f"{low} + {scale} x"] = members.in_units(arms, -low / scale, 1 / scale)
    units = units_of({"p": [policy]}, every)
    seen = seen_environments(arms, list(every.values()), units)["p"].reward.astype(np.float32)
    assert (seen[1:] == seen[0]).all() and len(set(units["p"])) == 9


def test_the_same_plays_and_the_users_means():
    """[2**24, 2**24 + 1] is played as [0, 1]; float32 merges the two. Regret is in the user's unit."""
    policies = {name: POLICIES[name][0] for name in ("UCB1", "IMEDMC")}
    result = jaxbandit.simulate(SCENARIOS, policies, runs=8, horizon=300, progress=False)
    for visits in result.visits.values():
        assert (visits == visits[:1]).all()
    regret = metrics.regret(result, "UCB1")[:, 0, :, -1].mean(-1)
    np.testing.assert_allclose(regret / np.diff(list(ENDS.values()))[:, 0], regret[0], rtol=1e-6)
    np.testing.assert_array_equal(result.means[1], SCENARIOS["float32"].means())


@pytest.mark.parametrize("stopping", [BernoulliGLR(), pytest.param(Blocks(), marks=pytest.mark.slow)])
def test_an_exact_rule_keeps_its_error_rate(stopping):
    """Float32 made the two rewards one, and the rule answered with the worse arm in every run."""
    arms = {"own": jaxbandit.markov(ROWS, (1e8, 1e8 + 1)), "unit": jaxbandit.markov(ROWS, (0, 1))}
    rule = {"rule": Identify(TopTwo(), stopping)}
    result = jaxbandit.simulate(arms, rule, runs=16, horizon=2000, until="stopped", progress=False)
    assert (result.stopped["rule"] > 0).any() and (result.answers["rule"][0] == result.answers["rule"][1]).all()
    assert (result.stopped["rule"][0] == result.stopped["rule"][1]).all()


def test_real_rewards_far_from_zero():
    policies = {"UCB1": jaxbandit.UCB1(), "Gaussian": jaxbandit.KLUCB(family=families.Gaussian())}
    asked = {"policies": policies, "runs": 8, "progress": False}
    arms = [environments.gaussian([low, low + 1]) for low in (0.0, 1e8)]
    near, far = (jaxbandit.simulate(item, **asked, horizon=300) for item in arms)
    for label, visits in far.visits.items():
        assert (visits == near.visits[label]).all()
        paid, less = (result.recorded["rewards"][label] for result in (far, near))
        np.testing.assert_allclose(paid, less + 1e8 * visits[..., 0], rtol=1e-15)
    again = jaxbandit.simulate(arms[1], **asked, horizon=400, times=[*far.times, 400], resume=far)
    before, after = (result.recorded["rewards"]["UCB1"] for result in (far, again))
    np.testing.assert_array_equal(after[..., -2, :], before[..., -1, :])


REFUSED = [
    ((1e8, 1e8 + 1), RescorlaWagner(0.1, 1.0)),  # which sees rewards as they are
    ((-1e9, 1.0, 2.0), jaxbandit.UCB1()),  # mapped to [0, 1], where the last two are 1
    ((0.5, 0.5 + 1e-9), jaxbandit.UCB1()),  # as they are in [0, 1]
]


@pytest.mark.parametrize(("rewards", "policy"), REFUSED)
def test_rewards_that_float32_merges_are_named(rewards, policy):
    arms = jaxbandit.markov(np.full((2, len(rewards), len(rewards)), 1 / len(rewards)), rewards)
    first, second = map(repr, map(float, rewards[-2:]))
    with pytest.raises(ValueError, match="are the same number in float32 for this policy") as error:
        jaxbandit.simulate(arms, {"p": policy}, runs=2, horizon=10, progress=False)
    assert "policies['p']" in str(error.value) and first in str(error.value) and second in str(error.value)


def test_real_rewards_that_one_policy_sees_as_they_are():
    """Policies that see them in other units may follow it."""
    arms, policies = environments.gaussian([1e5, 1e5 + 1]), [RescorlaWagner(0.1, 1.0), jaxbandit.UCB1()]
    units = units_of({str(n): [policy] for n, policy in enumerate(policies)}, {"arms": arms})
    assert [unit.low for (unit,) in units.values()] == [0, 1e5]


def test_rounding_of_float64_is_no_difference():
    check_distinct("x", [0.1 + 0.2, 0.3, 1.0])
    check_distinct("x", [1e8 + 0.1 + 0.2, 1e8 + 0.3, 1e8 + 64])


def test_a_player_of_large_rewards():
    """The page's player decided "bad"; the same answers on [0, 1] decide "good"."""
    decisions = []
    for low, high in ((1.0, 1 + 2e-8), (0.0, 1.0)):
        rule = Identify(stopping=BernoulliGLR(), delta=0.05)
        player = live.Player(rule, ["bad", "good"], states={"no": low, "yes": high}, key=1)
        random = np.random.default_rng(0)
        while player.decision is None:
            choice = player.choose()
            player.learn(choice.id, "yes" if random.random() < {"bad": 0.1, "good": 0.9}[choice.arm] else "no")
        decisions.append(player.decision)
    assert decisions[0] == decisions[1] and decisions[0].best == "good"


def test_real_answers_far_from_zero():
    """UCB1 played the worse arm 255 of 300 times; the report has the digits that differ."""
    plays, random = [], [np.random.default_rng(0) for _ in range(2)]
    for low, draw in zip((0.0, 1e8), random):
        player = live.Player(jaxbandit.UCB1(), ["a", "b"], rewards=(low, low + 1), key=0)
        for _ in range(60):
            choice = player.choose()
            player.learn(choice.id, reward=low + (draw.random() < {"a": 0.2, "b": 0.8}[choice.arm]))
        plays.append(player.report().plays.tolist())
    assert plays[0] == plays[1]
    means = [float(line.split()[4]) for line in str(player.report()).splitlines()[1:]]
    np.testing.assert_allclose(means, player.report().mean, atol=0.01, rtol=0)
    with pytest.raises(ValueError, match="the first answer stays"):
        player.learn(0, reward=low + 0.25)


def test_a_new_arm_keeps_the_scale_of_the_first():
    player = live.Player(jaxbandit.UCB1(), ["a", "b"], states={"no": 100.0, "yes": 200.0})
    with pytest.raises(ValueError, match="the new arm pays .* from 100 to 200; begin a new player"):
        player.add("c", states={"no": 100.0, "yes": 201.0})
    player.add("c", states={"no": 150.0, "yes": 175.0})
    assert np.asarray(player._position.state.reward).tolist() == [[0, 1], [0, 1], [0.5, 0.75]]


def test_logs_and_gymnasium_of_large_rewards():
    random = np.random.default_rng(0)
    arm = random.integers(2, size=400)
    won = random.random(400) < np.where(arm == 1, 0.8, 0.2)
    means = []
    for low in (0.0, 1e8):
        log = live.read_log({"arm": arm, "reward": low + won, "probability": np.full(400, 0.5)})
        means.append(live.replay(log, {"UCB1": jaxbandit.UCB1()}, seeds=4).mean[0] - low)
    assert means[0] == pytest.approx(means[1], abs=1e-6)
    env = live.gymnasium_env(jaxbandit.markov(ROWS, (2**20, 2**20 + 0.3)), horizon=20)
    env.reset(seed=0)
    assert {env.step(1)[1] for _ in range(20)} == {2**20, 2**20 + 0.3}
    with pytest.raises(ValueError, match="arms: the rewards 1"):
        live.gymnasium_env(jaxbandit.markov(ROWS, (1e8, 1e8 + 1)), horizon=20)
