"""The price of learning: its table against computation by hand, at a tiny size."""

import numpy as np
import pytest
from test_indices import value_of_joint_play

import jaxbandit
from experiments import known_chains
from experiments.published.scenarios import environment


def value_by_iteration(arms, discount):
    """What the best policy collects from state 0 of all arms."""
    still = np.broadcast_to(np.eye(arms.reward.shape[1]), arms.transition.shape)
    return value_of_joint_play(arms.transition, still, arms.reward, discount)[(0,) * len(still)]


@pytest.mark.parametrize("scenario", ["scenario 1", "scenario 4"])
def test_the_optimum_is_that_of_value_iteration(scenario):
    problem = known_chains.Problem(scenario, "state 0", 0.9)
    assert known_chains.optimum(problem) == pytest.approx(value_by_iteration(environment(scenario), 0.9), abs=1e-6)


def test_the_best_arm_alone():
    """Rewards of one arm, round after round, and the best of the arms."""
    problem = known_chains.Problem("scenario 2", "settled", 0.9)
    arms, result = problem.arms, []
    for k in range(5):
        law, sum_of_rewards = arms.initial[k], 0.0
        for t in range(300):
            law = law @ arms.transition[k]
            sum_of_rewards += 0.9**t * law @ arms.reward[k]
        result.append(sum_of_rewards)
    assert known_chains.best_alone(problem) == pytest.approx(max(result), rel=1e-12)
    assert 0.2 < known_chains.missed_alone(problem) == pytest.approx(1 - max(result) / known_chains.optimum(problem))


@pytest.mark.slow
def test_what_is_missed_where_arms_return():
    """From what is collected in the second half of the rounds, beside the optimum by value iteration."""
    name = "scenario 2, state 0, 0.9, again"
    problem = known_chains.returning()[name]
    case = known_chains.cases(known_chains.Settings(runs=30))[name]
    keep = {label: case["policies"][label] for label in (known_chains.KNOWN, "KL-UCB-SM")}
    result = jaxbandit.simulate(**case | {"policies": keep}, progress=False)
    assert result.times.tolist() == [300, 1500, 3000] and problem.scenario == "scenario 2"
    best = value_by_iteration(environment("scenario 2"), 0.9) * 0.1 * 1500
    known, other = (np.einsum("rtks,ks->rt", result.visits[label][0, 0], result.reward[0]) for label in keep)
    lost = 1 - (other[:, 2] - other[:, 1] - known[:, 2] + known[:, 1] + best) / best
    first, last = known_chains.rows_of({name: result}, name)
    assert last["KL-UCB-SM"].startswith(f"{lost.mean():.2%}") and first["rounds"] == "first tenth"
