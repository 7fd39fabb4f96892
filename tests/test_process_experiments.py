"""The experiments on decision processes: what they plan, their tables from counts, and their folders."""

import itertools
import math

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import bandit_as_process, decision_processes
from experiments.processes import losses, problems, structure
from jaxbandit import KLUCB, PSRL, KnownProcess, Uniform, metrics
from jaxbandit.command_line.experiment import check_cases
from jaxbandit.environments import as_decision_process
from jaxbandit.judging import atlas_card


def walk(process, actions, rounds, seed):
    """Rewards of a player who takes the actions [S] from state 0, as a plain loop."""
    random, s, collected = np.random.default_rng(seed), 0, 0.0
    for _ in range(rounds):
        collected += float(process.reward[actions[s], s])
        s = random.choice(process.reward.shape[1], p=np.asarray(process.transition[actions[s], s]))
    return collected


@pytest.mark.slow
def test_what_is_planned_has_the_numbers_of_the_sources():
    other = problems.process(problems.OTHER_ENDS)
    np.testing.assert_allclose(other.transition[1, 0], [0.4, 0.6, 0, 0, 0])
    np.testing.assert_allclose(other.transition[1, 2], [0, 0.3, 0.35, 0.35, 0])
    np.testing.assert_allclose(other.transition[1, 4], [0, 0, 0, 0.4, 0.6])
    np.testing.assert_allclose(other.transition[0, 2], [0, 0.99, 0.005, 0.005, 0])
    assert other.reward[0, 0] == 0.05 and other.reward[1, 4] == 0.99
    assert (np.asarray(problems.process(problems.RANDOM).transition) > 0).all()
    kind_of = lambda name: jaxbandit.decision_processes.structure(problems.process(name).transition).kind
    ergodic = {name for name in problems.SMALL if kind_of(name) == "ergodic"}
    assert ergodic == {"ergodic RiverSwim", problems.OTHER_ENDS, problems.RANDOM}
    for name in problems.NAMES:
        assert next(iter(problems.policies(name, 1000))) == problems.KNOWN
    assert set(problems.LOOPS) <= set(problems.policies("RiverSwim", 1000))


def test_the_share_of_runs_has_wilsons_interval():
    share, z = 8 / 40, 1.959964
    whole, spread = 1 + z**2 / 40, math.sqrt(share * 0.8 / 40 + (z / 80) ** 2)
    centre, half = (share + z**2 / 80) / whole, z * spread / whole
    assert losses.share_of(np.arange(40) < 8) == f"20% ({centre - half:.0%} to {centre + half:.0%})"


def test_joint_states_pay_what_arms_show():
    """Paths of plays pay as the arms do but for each arm's first and last state; best gains are the best mean."""
    arms = structure.arms_of(3)
    process, means = structure.joint(arms), as_decision_process(arms)
    for item in (process, means):
        assert item.comparator(1) == pytest.approx(arms.means().max(), abs=1e-9)
        np.testing.assert_allclose(item.means(), arms.means(), atol=1e-9)
    random = np.random.default_rng(0)
    for start in itertools.product((0, 1), repeat=3):
        states, view, paid = list(start), 0.0, 0.0
        for k in random.integers(0, 3, 20):
            s = np.ravel_multi_index(states, (2, 2, 2))
            assert process.reward[k, s] == states[k]
            paid += float(process.reward[k, s])
            states[k] = int(random.choice(2, p=np.asarray(arms.transition[k, states[k]])))
            assert process.transition[k, s, np.ravel_multi_index(states, (2, 2, 2))] > 0
            view += states[k]
        assert paid - view == sum(start) - sum(states)


@pytest.mark.slow
def test_regret_of_plays_is_pseudo_regret_on_arms():
    arms = structure.arms_of(2)
    asked = {"runs": 20, "horizon": 200, "times": [100, 200], "progress": False}
    on_arms = jaxbandit.simulate(arms, {"uniform": Uniform()}, **asked)
    expected = metrics.pseudo_regret(on_arms, "uniform")[0, 0]
    np.testing.assert_allclose(structure.regret_of_plays(on_arms, "uniform"), expected, atol=1e-9)
    assert structure.share_linear(on_arms, "uniform") == 1.0 == metrics.linear_share(on_arms, "uniform")[0, 0]
    process = structure.joint(arms)
    policies = {"known": KnownProcess.of(process), "uniform": Uniform()}
    joint = jaxbandit.simulate(process, policies, **asked, shuffle=True)
    assert (structure.regret_of_plays(joint, "known") == 0).all() and structure.share_linear(joint, "known") == 0
    gap = np.ptp(arms.means())
    # of 20 runs with 200 fair choices each; the chance of five standard deviations is below 1e-6
    assert abs(structure.regret_of_plays(joint, "uniform")[:, -1].mean() - 100 * gap) < 5 * gap * math.sqrt(50 / 20)


@pytest.mark.slow
def test_tables_from_counts():
    """Rows of a result in order of the mean; a run loses a fifth where it lost a fifth of rounds times gain."""
    process = problems.process(problems.OTHER_ENDS)
    left = KnownProcess(np.zeros(5, int))
    policies = {problems.KNOWN: KnownProcess.of(process), problems.IMED_RL: left, problems.UNNORMALISED: Uniform()}
    result = jaxbandit.simulate(
        {problems.OTHER_ENDS: process}, policies, runs=20, horizon=1000, times=[100, 500, 1000], progress=False
    )
    answer = losses.final_rows(result)
    assert (answer[0]["policy"], answer[0]["exponent"]) == (problems.KNOWN, "-")
    assert answer[0]["less than the next"] == "yes"
    (one, other) = losses.linear_rows({problems.OTHER_ENDS: result})
    assert one["lose a fifth or more"].startswith("100%") and other["mean of the others"] == "-"
    loops = [1000 * process.comparator(1) - walk(process, [0] * 5, 1000, seed) for seed in range(20)]
    here = metrics.regret(result, problems.IMED_RL)[0, 0, :, -1]
    apart = math.hypot(np.std(loops, ddof=1), np.std(here, ddof=1)) / math.sqrt(20)
    assert abs(np.mean(loops) - here.mean()) < 5 * apart + 1e-6  # false alarm below 1e-4, Student's 38 degrees
    assert losses.loop_rows(result) == []


@pytest.mark.slow
def test_learners_are_judged_on_processes_and_policies_of_arms_are_not():
    named = {name: jaxbandit.atlas[name].arms for name in ("ergodic RiverSwim", "best20")}
    planned, left_out = atlas_card.cases(named, {"PSRL": PSRL(), "KLUCB": KLUCB()}, 50, 40, jax.random.key(0))
    reasons = {label: set(reasons) for label, reasons in left_out.items()}
    assert reasons == {"PSRL": {"best20"}, "KLUCB": {"ergodic RiverSwim"}}
    panels = [case for name, case in planned.items() if name.startswith("panel")]
    (panel,) = [case for case in panels if "ergodic RiverSwim" in case["scenarios"]]
    assert set(panel["policies"]) == {"UCRL2B", "IMEDRL"} and panel["runs"] == 20
    assert atlas_card.runs_of(jaxbandit.atlas["four rooms"].arms, 200) == 20


def test_every_case_can_be_played():
    settings = decision_processes.Settings(processes=", ".join(problems.NAMES))
    check_cases(decision_processes.cases(settings))
    for number in range(2, 6):
        check_cases(bandit_as_process.cases(bandit_as_process.Settings(arms=number)))
    with pytest.raises(ValueError, match="^--arms: "):
        bandit_as_process.cases(bandit_as_process.Settings(arms=6))
