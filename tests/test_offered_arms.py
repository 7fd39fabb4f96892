"""Arms that are offered in some rounds: the arms and the regret of a loop, the law of offers, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_delayed_feedback import asked, begin, step, update

import jaxbandit
from jaxbandit import IMEDMC, KLUCB, UCB1, Exp3, metrics, simulate
from jaxbandit.base import reward_table
from jaxbandit.environments import gaussian, piecewise, restless
from jaxbandit.fast import threefry
from jaxbandit.pytrees import in_order

KEY = jax.random.key(12)
ARMS = jaxbandit.two_state([0.5, 0.4, 0.3, 0.2], [0.4, 0.55, 0.65, 0.1])
CHANGING = piecewise([20], [[0.9, 0.5, 0.4, 0.1], [0.1, 0.5, 0.4, 0.7]])
ROWS = np.random.default_rng(3).random((17, 4)) < 0.4
ROWS[np.arange(17), np.arange(17) % 4] = ROWS[np.arange(17), (np.arange(17) + 1) % 4] = True
CHANCES = np.array([0.2, 0.9, 0.5, 0.0])
ASKED = {"key": KEY, "runs": 3, "horizon": 60, "times": range(1, 61)}


def offered_in(offered, key, t, plays):
    """Which arms are offered, by the definition in float64."""
    if np.ndim(offered) == 2:
        return offered[(t - 1) % len(offered)]
    words = np.asarray(jax.random.key_data(key))[:, None]
    bits = threefry(words, np.arange(4, dtype=np.uint32) + np.uint32(2**31), np.full(4, t, np.uint32))[0].astype(float)
    mask = bits < 2.0**32 * offered
    with np.errstate(divide="ignore"):
        mask[np.argsort(bits / offered)[:plays]] = True
    return mask


def loop(environment, policy, run, offered, plays=1, shuffle=False, delay=0):
    """The arms of each round of one run, and the regret against the best offered ones, by the protocol alone."""
    keys = jax.tree.map(lambda leaf: leaf[..., 0], jaxbandit.run_keys(KEY, [run], 4 if shuffle else None))
    order = np.arange(4) if keys.order is None else np.asarray(keys.order)
    seen_by = in_order(policy, keys.order) if shuffle else policy
    known = begin(seen_by, jnp.asarray(reward_table(environment), float)[order])
    where = begin(environment, keys.environment)
    waiting, played, regret, total = [], [], [], 0.0
    for t in range(1, 61):
        scores, known = asked(seen_by, jax.random.fold_in(keys.policy, t), known, jnp.int32(t))
        mask = offered_in(offered, keys.environment, t, plays)
        ranked = [arm for arm in np.argsort(-np.asarray(scores), kind="stable") if mask[order[arm]]]
        arms = np.array(ranked[:plays], np.int32)
        means = environment.means() if environment is not CHANGING else np.asarray(CHANGING.means_now(where, t).high)
        total += np.sort(means[mask])[-plays:].sum() - means[order[arms]].sum()
        where, feedback = step(environment, keys.environment, where, jnp.asarray(order[arms], jnp.int32), jnp.int32(t))
        if isinstance(policy, Exp3):
            chances = np.asarray(policy.probabilities(known), float)
            feedback = feedback._replace(chances=jnp.asarray(chances[arms] / chances[mask[order]].sum(), float))
        waiting.append(feedback._replace(arms=jnp.asarray(arms)))
        if len(waiting) > delay:
            known = update(seen_by, known, waiting.pop(0))
        played.append(set(order[arms].tolist()))
        regret.append(total)
    return played, regret


CASES = {
    "ucb1-given": (ARMS, UCB1(), {"offered": ROWS, "plays": 2, "shuffle": True}),
    "exp3-drawn": (CHANGING, Exp3(gamma=0.3), {"offered": CHANCES, "delay": 2, "shuffle": True}),
    "imedmc-drawn": (ARMS, IMEDMC(), {"offered": CHANCES, "plays": 2}),
    "klucb-numbers": (gaussian([0.5, 0.2, 0.0, 0.4]), KLUCB(family=jaxbandit.families.Gaussian()), {"offered": ROWS}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_arms_and_the_regret_are_those_of_a_loop(case):
    environment, policy, options = CASES[case]
    result = simulate(environment, {"p": policy}, **ASKED, **options)
    plays = np.diff(result.visits["p"][0, 0].sum(-1), axis=1, prepend=0)  # [run, time, arm]
    for run in range(3):
        played, regret = loop(environment, policy, run, **options)
        assert [set(np.flatnonzero(item).tolist()) for item in plays[run]] == played
        np.testing.assert_allclose(metrics.regret(result, "p")[0, 0, run], regret, atol=1e-5)


def test_what_a_result_says_of_offered_arms():
    """Regret against the best arms offered, and no other; all arms offered in all rounds change no play."""
    policies = {"u": UCB1()}
    result = simulate(ARMS, policies, **ASKED, offered=ROWS, plays=2, shuffle=True, chunk=7)
    assert "arms offered as given for 17 rounds" in repr(result)
    assert metrics.regret_name(result) == "regret against the best arms offered" in str(result).lower()
    for metric in (metrics.pseudo_regret, metrics.realised_regret, metrics.best_share, metrics.linear_share):
        with pytest.raises(ValueError, match="arms that are not offered in every round; use regret$"):
            metric(result, "u")
    every = simulate(ARMS, policies, **ASKED, offered=np.ones((17, 4)), plays=2, shuffle=True)
    plain = simulate(ARMS, policies, **ASKED, plays=2, shuffle=True)
    np.testing.assert_array_equal(every.visits["u"], plain.visits["u"])
    np.testing.assert_allclose(metrics.regret(every, "u"), metrics.pseudo_regret(plain, "u"), atol=1e-5)


@pytest.mark.parametrize(
    ("environment", "policy", "options", "words"),
    [
        (ARMS, UCB1(), {"offered": ROWS.T}, r"offered: shape \(4, 17\) is neither \[N, K\]"),
        (ARMS, UCB1(), {"offered": ROWS & False}, "offered: 0 arms in round 1, and plays is 1; offer at least so many"),
        (ARMS, UCB1(), {"offered": 1.5}, "offered: 1.5 are not probabilities"),
        (ARMS, UCB1(), {"offered": CHANCES, "plays": 4}, "offered: 3 arms have a positive probability, and plays is 4"),
        (ARMS, jaxbandit.RoundRobinKLUCB(), {"offered": 0.5}, r"policies\['p'\]: RoundRobinKLUCB .* in turns"),
        (ARMS, jaxbandit.WithDetector(UCB1(), jaxbandit.CUSUM(5, 0.05, 1.0, 0.1)), {"offered": 0.5}, "in turns"),
        (
            restless(ARMS.transition, ARMS.reward),
            UCB1(),
            {"offered": 0.5},
            r"scenarios\['scenario'\] are restless arms",
        ),
    ],
)
def test_what_cannot_be_is_refused(environment, policy, options, words):
    with pytest.raises(ValueError, match=words):
        simulate(environment, {"p": policy}, runs=2, horizon=50, **options)
