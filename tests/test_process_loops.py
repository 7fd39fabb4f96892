"""The scalar loops that stand beside our learners of decision processes: run by run against other loops, and ours."""

import numpy as np
import pytest
import reference_processes as reference

from experiments.other_packages import process_learners
from experiments.timing import scalar_process_loop
from jaxbandit import metrics, simulate
from jaxbandit.environments import riverswim

MOVES, REWARD = (np.array(each, float) for each in (riverswim(4).transition, riverswim(4).reward))
A, S = REWARD.shape


def played(choose, horizon, seed):
    """What is collected by `choose(t, counts, here)`, with the numbers that numpy draws after the seed."""
    np.random.seed(seed)  # noqa: NPY002
    counts, here, collected = np.zeros((A, S, S), int), 0, 0.0
    for t in range(1, horizon + 1):
        action = choose(t, counts, here)
        following = min(int(np.searchsorted(MOVES[action, here].cumsum(), np.random.random(), side="right")), S - 1)  # noqa: NPY002
        counts[action, here, following] += 1
        collected += REWARD[action, here]
        here = following
    return collected


def optimist():
    """UCRL2 with the plans of another loop."""
    plan, before = None, np.zeros((A, S), int)

    def choose(t, counts, here):
        nonlocal plan, before
        left = counts.sum(-1)
        if plan is None or (left - before)[plan[here], here] >= max(1, before[plan[here], here]):
            plan, before = reference.optimistic("UCRL2", counts, REWARD, t, here)[0], left
        return plan[here]

    return choose


def sampler(learned):
    """PSRL with laws drawn row by row."""
    plan, before = None, np.zeros((A, S), int)

    def choose(t, counts, here):
        nonlocal plan, before
        left = counts.sum(-1)
        if plan is None or (left >= np.maximum(1, 2 * before)).any():
            rows, paid = np.zeros((A, S, S)), REWARD.copy()
            for a in range(A):
                for s in range(S):
                    drawn = np.random.standard_gamma(1 + counts[a, s])  # noqa: NPY002
                    rows[a, s] = drawn / drawn.sum()
                    if learned:
                        gained = left[a, s] * REWARD[a, s]
                        paid[a, s] = np.random.beta(1 + gained, 1 + left[a, s] - gained)  # noqa: NPY002
            tolerance = min(max(1 / t, 1e-6), 1e-2)
            plan, before = reference.iterate(lambda u: paid + rows @ u, S, tolerance, waiting=0.1)[0], left
        return plan[here]

    return choose


def index(normalised):
    """IMED-RL with the indices of another loop."""
    phi = np.zeros(S)

    def choose(t, counts, here):
        nonlocal phi
        worth, phi = reference.imed_rl(counts, REWARD, phi, here, normalised=normalised)
        return int(np.argmin(worth))

    return choose


@pytest.mark.parametrize(
    ("name", "setting", "other"),
    [
        pytest.param("UCRL2", 0.05, optimist, id="UCRL2"),
        pytest.param("PSRL", False, lambda: sampler(False), id="PSRL"),
        pytest.param("PSRL", True, lambda: sampler(True), id="PSRL-learned"),
        pytest.param("IMED-RL", True, lambda: index(True), id="IMED-RL"),
        pytest.param("IMED-RL", False, lambda: index(False), id="IMED-RL-published"),
    ],
)
def test_loops_play_as_loops_of_another_hand(name, setting, other):
    """As plain Python, without numba: the same draws lead to the same rewards in every run."""
    seeds = np.arange(3)
    found = scalar_process_loop.loops()[name](MOVES, REWARD, seeds, 150, setting)
    assert found.tolist() == pytest.approx([played(other(), 150, seed) for seed in seeds], abs=1e-9)


def test_ucrl2_plans_as_another_loop_where_rows_are_known_well():
    """In so short a run every row is possible; here counts are from nothing to many."""
    plan, random, sure = scalar_process_loop.optimism(scalar_process_loop.plain), np.random.default_rng(0), 0
    for _ in range(30):
        counts = random.multinomial(random.integers(0, 20_000), random.dirichlet(np.ones(S)), (A, S))
        t = int(counts.sum()) + 1
        actions, _, _, margin, _ = reference.optimistic("UCRL2", counts, REWARD, t, 0)
        found = plan(counts.astype(float), counts.sum(-1).astype(float), REWARD, t, 0.05)
        clear = margin > 1e-9
        sure += clear.sum()
        assert (found == actions)[clear].all()
    assert sure > 100


@pytest.mark.parametrize(
    "learner",
    [each for each in process_learners.LEARNERS if each.loop],
    ids=lambda learner: learner.label.replace(", ", "-").replace(" ", "-"),
)
def test_loops_lose_what_ours_lose(learner):
    """Six states, 200 runs of the loop and 400 of ours: false-fail rate 1e-6 (4.9 standard errors).

    UCRL2's runs are all alike for long, so that it plays 20,000 rounds, others 2,000. Of 100 differences of 70 in its
    mean regret, 8,450, of 56 in PSRL's, 190, and of 22 in that of IMED-RL, 94, this finds 99.
    """
    pytest.importorskip("numba")
    process, horizon = riverswim(), 20_000 if learner.label == "UCRL2" else 2000
    loop = scalar_process_loop.play(*learner.loop, process, 200, horizon)
    best = horizon * float(process.comparator(1))
    theirs = best - loop.collected
    result = simulate(process, {"p": learner.ours}, runs=400, horizon=horizon, times=[horizon])
    ours = metrics.regret(result, "p")[0, 0, :, -1]
    error = np.sqrt(theirs.var() / 200 + ours.var() / 400)
    assert abs(theirs.mean() - ours.mean()) <= 4.9 * error
    again = scalar_process_loop.play(*learner.loop, process, 20, horizon)
    np.testing.assert_array_equal(again.collected, loop.collected[:20])
    assert loop.seconds > 0 and len(np.unique(loop.collected)) > 50
