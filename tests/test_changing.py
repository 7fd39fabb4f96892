"""Arms that change, walk or rot: means and laws against loops, regret against sums of means, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from environments import Rotting
from jax.extend.random import threefry_2x32
from scipy.special import ndtri

import jaxbandit
from jaxbandit import Oracle, Uniform, metrics, plotting, simulate
from jaxbandit.environments import changing_markov, piecewise, random_walk, rewards_table, sinusoid
from jaxbandit.testing import check_environment

STANDARD = piecewise([3000, 5000], [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]], horizon=10_000)
FAST = np.array([[0.5, 0.5], [0.4, 0.6]])
SLOW = np.array([[0.9, 0.1], [0.2, 0.8]])
CHAINS = [[FAST, SLOW, FAST], [SLOW, FAST, SLOW]]
TABLE = np.random.default_rng(3).integers(0, 5, (60, 3)) / 7
KINDS = {
    "piecewise": piecewise([20, 41], [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]]),
    "sinusoid": sinusoid(60, 3),
    "table": rewards_table(TABLE, draw=True),
    "rested": changing_markov([20], CHAINS, (-1, 3)),
    "restless": changing_markov([20], CHAINS, (0, 1), "stationary", restless=True),
}


def means_of(environment, horizon):
    """`means_now` of rounds 1 to the horizon, [round, arm] float64."""
    rounds = jnp.arange(1, horizon + 1)
    return sum(np.asarray(part, float) for part in jax.vmap(lambda t: environment.means_now(None, t))(rounds))


def total_loss(environment, horizon, arm):
    """What always playing `arm` loses, and what uniform play loses on average, from `means_now`."""
    means = means_of(environment, horizon)
    return (means.max(1) - means[:, arm]).sum(), (means.max(1) - means.mean(1)).sum(), means.max(1).sum()


def test_numbers_of_the_literature():
    """Sums over all rounds that two programs outside this project agree on."""
    one, uniform, best = total_loss(STANDARD, 10_000, 0)
    assert [one, uniform, best] == pytest.approx([800, 1466.666667, 5800])
    for amplitude, variation, first, best, one, uniform in (
        (0.3, 2.999528761, 0.5004712387, 6909.858924, 1527.88714, 1909.858924),
        (0.5, 2.999528662, 0.5004712388, 8183.098836, 2122.06596, 3183.098836),
    ):
        arms = sinusoid(10_000, 3, amplitude)
        result = arms.variation, means_of(arms, 1)[0, 0], *total_loss(arms, 10_000, 0)
        assert result == pytest.approx((variation, first, one, uniform, best), rel=1e-9)
    for horizon, budget, arms, batch, gap in ((10_000, 3, 2, 282, 0.02105379803), (100_000, 10, 5, 794, 0.01983877078)):
        result = jaxbandit.environments.lower_bound_instance(horizon, budget, arms)
        assert (result.batch, float(result.gap)) == (batch, pytest.approx(gap, rel=1e-9))
        assert result.variation <= budget
    early = sinusoid(9000, 3, until=1 / 3)
    assert early.variation == pytest.approx(3, rel=1e-3)
    assert len(early.breaks) == 2999
    assert (means_of(early, 9000)[2999] == means_of(early, 9000)[8999]).all()
    assert STANDARD.breaks.tolist() == [3000, 5000]
    assert means_of(STANDARD, 5000)[[2998, 2999, 4998, 4999], 2] == pytest.approx([0.4, 0.9, 0.9, 0.4], abs=1e-14)
    assert STANDARD.variation == pytest.approx(1.0)


SUMS = [("sinusoid", 1), ("table", 1), ("restless", 2)]
SUMS += [pytest.param(kind, 2, marks=pytest.mark.slow) for kind in ("piecewise", "rested")]


@pytest.mark.parametrize(("kind", "plays"), SUMS)
def test_dynamic_regret_is_the_sum_over_the_arms_played(kind, plays):
    """Every round is recorded, so that visits tell which arms were played; their means are those of `means_now`."""
    arms = KINDS[kind]
    means = means_of(arms, 60)
    asked = {"runs": 9, "horizon": 60, "plays": plays, "times": range(1, 61)}
    result = simulate(arms, {"U": Uniform()}, **asked, shuffle=kind == "rested")
    best = np.sort(means, axis=1)[:, -plays:].sum(1)
    played = np.diff(result.visits["U"][0, 0].sum(-1), axis=1, prepend=0)  # [run, round, arm]
    paid = (played * means).sum(-1)
    answer = metrics.dynamic_regret(result, "U")[0, 0]
    assert answer.max() > 1
    np.testing.assert_allclose(answer, np.cumsum(best - paid, axis=1), rtol=2.0**-22, atol=1e-9)
    if kind == "table":
        against = np.cumsum(means, axis=0).max(1) - np.cumsum(paid, axis=1)
        assert np.abs(metrics.regret(result, "U")[0, 0] - against).max() <= 2.0**-21
        assert (against < 0).any()  # what a single arm cannot do
    name = "regret against the best single arm" if kind == "table" else "dynamic regret"
    assert metrics.regret_name(result) == name


def test_in_each_batch_of_the_lower_bound_one_arm_is_better():
    """The same arm in all rounds of a batch, each as likely: shares and means are within 5 standard errors."""
    arms = jaxbandit.environments.lower_bound_instance(1000, 10, 4)
    times = [*arms.breaks - 1, 1000]
    result = simulate(arms, {"first": Oracle([1.0, 0.0, 0.0, 0.0])}, runs=200, horizon=1000, times=times)
    lost = np.diff(metrics.regret(result, "first")[0, 0], axis=1, prepend=0) / float(arms.gap)  # [run, batch]
    lengths = np.diff([0, *times])
    is_best = np.abs(lost) < 1e-6
    assert (is_best | (np.abs(lost - lengths) < 1e-3)).all()
    assert abs(is_best.mean() - 1 / 4) < 5 * np.sqrt(3 / 16 / is_best.size)
    assert len(np.unique(is_best, axis=0)) > 100  # runs draw for themselves
    paid = np.diff(result.visits["first"][0, 0, :, :, 0, 1], axis=1, prepend=0)
    for better, mean in ((is_best, 0.5 + float(arms.gap)), (~is_best, 0.5)):
        rounds = (better * lengths).sum()
        assert abs(paid[better].sum() / rounds - mean) < 5 * 0.5 / np.sqrt(rounds)


@pytest.mark.parametrize("restless", [False, True])
def test_chains_move_by_the_matrices_of_the_round(restless):
    """From the definition, in NumPy: JAX's threefry on (arm, round), thresholds summed up in float64."""
    environment = changing_markov([8, 15], [CHAINS[0], CHAINS[1], CHAINS[0]], (0, 1), [0, 1, 1], restless=restless)
    order = np.random.default_rng(1).integers(0, 3, 30)
    key = jax.random.key(7)

    def step(state, played):
        state, feedback = environment.step(key, state, played[0][None], played[1])
        return state, (feedback.before[0], feedback.states[0], feedback.rewards[0])

    rounds = jnp.asarray(order, jnp.int32), 1 + jnp.arange(30, dtype=jnp.int32)
    _, (before, after, rewards) = jax.lax.scan(step, environment.init(key), rounds)
    states, view = [0, 1, 1], [0, 1, 1]
    for t, arm in enumerate(order, 1):
        matrices = CHAINS[1 if 8 <= t < 15 else 0]
        for k in range(3):
            if restless or k == arm:
                bits = threefry_2x32(jax.random.key_data(key), jnp.array([k, t], jnp.uint32))[0]
                states[k] = int(int(bits) / 2.0**32 >= matrices[k][states[k], 0])
        assert (before[t - 1], after[t - 1], rewards[t - 1]) == (view[arm], states[arm], states[arm])
        view[arm] = states[arm]


def test_an_environment_made_for_a_horizon_refuses_another():
    batches = jaxbandit.environments.lower_bound_instance(50, 2)
    words = r"were made for [0-9,]+ rounds, and 60 will be played; make them with horizon=60"
    for arms in (STANDARD, batches, sinusoid(50, 2), rewards_table(np.eye(2))):
        with pytest.raises(ValueError, match=words):
            simulate(arms, {"U": Uniform()}, runs=2, horizon=60)
    with pytest.raises(ValueError, match="one play a round"):
        simulate(rewards_table(np.eye(3)), {"U": Uniform()}, runs=2, horizon=3, plays=2)


def test_bad_input():
    level = [[0.5, 0.4]]
    for make, message in (
        (lambda: piecewise([5, 5], level * 3), r"breaks: \[5, 5\] do not increase"),
        (lambda: piecewise([5], level), "levels: 1 of them; 1 breaks make 2 segments"),
        (lambda: piecewise([5], level * 2, horizon=4), "breaks: 5 lies beyond horizon = 4"),
        (lambda: piecewise([5], [[0.5, 1.4]] * 2), r"levels: a probability lies outside \[0, 1\]"),
        (lambda: sinusoid(100, 51), "budget: 51 cannot be spent by 2 arms in 100 rounds"),
        (lambda: sinusoid(100, 3, until=0.05), r"budget: 3 cannot be spent in 5 rounds by swings of 0.3; .* 1.5"),
        (lambda: jaxbandit.environments.lower_bound_instance(100, 26, 4), "budget: 26 cannot be spent by 4 arms"),
        (lambda: rewards_table([[0.5, 2.0]]), r"rewards: a reward lies outside \[0, 1\]"),
        (lambda: rewards_table([[0.0, 0.25]]), r"rewards: 0.25 is neither 0 nor 1.*draw=True"),
        (lambda: changing_markov([5], [CHAINS[0]], (0, 1)), "transition: 1 of them; 1 breaks"),
        (lambda: changing_markov([5], [CHAINS[0], [np.eye(2)] * 3], (0, 1)), r"arm 0 is reducible.*\(segment 1\)"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    result = simulate(jaxbandit.bernoulli([0.5, 0.4]), {"U": Uniform()}, runs=2, horizon=3)
    with pytest.raises(ValueError, match="it has no dynamic regret"):
        metrics.dynamic_regret(result, "U")


def test_a_table_pays_its_entries_or_draws_with_them():
    """Always the first arm: the column's sum in every run of zeros and ones; of fractions sums as chance has them."""
    ones, halves = np.tile([[1.0, 0.0], [0.0, 1.0]], (20, 1)), np.full((40, 2), 0.5)
    for arms, expected in ((rewards_table(ones), 0.0), (rewards_table(halves, draw=True), 10.0)):
        result = simulate(arms, {"first": Oracle([1.0, 0.0])}, runs=50, horizon=40, times=[40])
        paid = result.visits["first"][0, :, :, 0, 0, 1]
        # 50 binomials of variance 10: their sample variance is off by 10 or more in 1 of 10^4
        assert paid.var(ddof=1) == pytest.approx(expected, abs=10 if expected else 0)
        assert paid.mean() == pytest.approx(20, abs=2.5 if expected else 0)


def test_pictures_and_named_axes_say_what_the_regret_is():
    late = piecewise([20, 51], [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.7]])
    arms = {"early": KINDS["piecewise"], "late": late}
    result = simulate(arms, {"U": Uniform()}, runs=3, horizon=60)
    ax = plotting.plot_regret(result, scenario=1)
    assert ax.get_ylabel() == "dynamic regret"
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"] == [20, 51]
    data = result.to_xarray()
    assert data.regret.attrs["long_name"] == "dynamic regret"
    assert data.variation.values.tolist() == pytest.approx([1.0, 0.7])
    assert data.segments.values.tolist() == [3, 3]
    with pytest.raises(ValueError, match="is for arms with means of their own"):
        metrics.pseudo_regret(result, "U")


def test_breaks_of_chains_are_those_of_their_matrices():
    """Both matrices have the mean 1/2; the arm stands still for longer in the second."""
    rows = [[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]]]
    arms = changing_markov([4, 7], [[rows[n]] * 2 for n in (0, 1, 1)], (0, 1))
    assert arms.breaks.tolist() == [4] and arms.numbers()["segments"] == 2 and arms.variation < 1e-12


def test_what_an_environment_says_of_itself_is_checked(monkeypatch, tmp_path):
    arms = KINDS["piecewise"]
    for wrong, words in ((3.0, "float is not a dict"), ({"x": "many"}, r"numbers\(\)\['x'\]"), ({"x": np.nan}, "NaN")):
        monkeypatch.setattr(type(arms), "numbers", lambda self, wrong=wrong: wrong)
        with pytest.raises(ValueError, match=words):
            simulate(arms, {"U": Uniform()}, runs=2, horizon=3)
    numbers = {"x": np.float32(0.5), "n": np.int64(2), "many": np.arange(2)}
    monkeypatch.setattr(type(arms), "numbers", lambda self: numbers)
    result = simulate(arms, {"U": Uniform()}, runs=2, horizon=3)
    result.save(tmp_path / "told.npz")
    loaded = jaxbandit.Result.load(tmp_path / "told.npz")
    assert loaded.provenance["scenarios"]["scenario"] == {"x": 0.5, "n": 2, "many": [0, 1]}
    assert result.to_xarray().x.values.tolist() == [0.5]


def test_who_plays_the_best_arms_loses_exactly_nothing():
    """Three plays of five arms, with gaps that no float has: sums of many orders, and one worse arm in its place."""
    means = [0.9, 0.7, 0.3 + 1e-7, 0.3, 0.1]
    arms = piecewise([11], [means, means[::-1]])
    policies = {"best": Oracle([1.0, 3.0, 2.0, 0.0, 0.0]), "other": Oracle([1.0, 3.0, 0.0, 2.0, 0.0])}
    result = simulate(arms, policies, runs=2, horizon=10, plays=3, times=[10])
    assert (metrics.regret(result, "best") == 0).all()
    assert metrics.regret(result, "other").ravel() == pytest.approx([1e-6] * 2, rel=1e-5)


# Means that do random walks

KEY = jax.random.key(3)
WALK = random_walk([1.0, 2.0, -1.0], [0.5, 0.0, 0.01], [1.0, 0.5, 2.0], decay=[1.0, 0.5, 0.99], centre=3.0, spread=0.1)
RUNS, ROUNDS = 3, 40


def normal(key, arm, t):
    """Standard normal numbers from 64 bits of JAX's threefry on (arm, round), in float64."""
    first, second = (int(word) for word in threefry_2x32(key, np.array([arm, t], np.uint32)))
    beyond = (2 * ((first & 0x7FFFFFFF) << 31 | second >> 1) + 1) / 2**64  # probability of what lies further out
    return -ndtri(beyond) if first >> 31 else ndtri(beyond)


def by_loop(key):
    """The means of each round and what a play would pay, [round, arm] each."""
    start, diffusion, deviation, rate, centre, spread = (
        np.asarray(getattr(WALK, name)) for name in ("start", "diffusion", "deviation", "rate", "centre", "spread")
    )
    key = np.asarray(jax.random.key_data(key))
    means = start + spread * [normal(key, 3 + k, 0) for k in range(3)]
    rows = []
    for t in range(1, ROUNDS + 1):
        rows.append((means, means + deviation * [normal(key, k, t) for k in range(3)]))
        means = (1 - rate) * means + rate * centre + diffusion * [normal(key, 3 + k, t) for k in range(3)]
    return np.moveaxis(np.array(rows), 1, 0)


def test_regret_and_rewards_are_those_of_a_loop():
    """Two plays a round; every round is recorded, so that plays tell what was paid and what was lost."""
    result = simulate(WALK, {"U": Uniform()}, key=KEY, runs=RUNS, horizon=ROUNDS, plays=2, times=range(1, ROUNDS + 1))
    keys = jaxbandit.run_keys(KEY, np.arange(RUNS)).environment
    for run in range(RUNS):
        means, pays = by_loop(keys[run])
        played = np.diff(result.visits["U"][0, 0, run].sum(-1), axis=0, prepend=0)
        assert (played.sum(1) == 2).all()
        sums = np.asarray(result.recorded["rewards"]["U"])[0, 0, run]
        np.testing.assert_allclose(sums, np.cumsum(played * pays, axis=0), rtol=1e-5, atol=1e-5)
        lost = np.cumsum(np.sort(means, axis=1)[:, -2:].sum(1) - (played * means).sum(1))
        np.testing.assert_allclose(metrics.dynamic_regret(result, "U")[0, 0, run], lost, rtol=1e-5, atol=1e-5)


def test_small_steps_beside_a_large_mean_are_not_lost():
    """Steps of 1e-4 around 1e4, far below a float's last digit there: their variance after n rounds is n 1e-8.

    400 walks; a sample variance of so many is within 5 of its standard errors, which are sqrt(2 / 399) of it (a false
    fail below 1e-5).
    """
    arms, n = random_walk([1e4, 1e4], 1e-4), 200

    def walk(key):
        step = lambda t, state: arms.step(key, state, jnp.array([0]), t)[0]
        return jax.lax.fori_loop(1, n + 1, step, arms.init(key)).means

    high, low = (np.asarray(part, float) for part in jax.jit(jax.vmap(walk))(jax.random.split(KEY, 200)))
    assert np.var(high - 1e4 + low) == pytest.approx(n * 1e-8, rel=5 * np.sqrt(2 / 399))


def test_bad_walks():
    for given, message in (
        ({"diffusion": [-1.0, 1.0]}, "diffusion: .* is not a number that is not negative, or .* of them"),
        ({"diffusion": [1.0] * 3}, "diffusion: .* of them"),
        ({"deviation": 0.0}, "deviation: 0.0 is not positive"),
        ({"decay": 1.5}, "decay: 1.5 is not a number from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            random_walk(**{"start": [1.0, 2.0], "diffusion": 1.0} | given)
    with pytest.raises(ValueError, match="RandomWalkArms has changing arms; the bounds are for rested arms"):
        jaxbandit.bounds.lai_robbins(WALK)


# Arms whose means fall with their own plays

ROTTEN = Rotting(start=np.array([0.9, 0.8, 0.5]), floor=np.array([0.2, 0.4, 0.3]), keep=0.98)


def mean_of(arm, plays):
    """The mean of the play that comes after so many plays, in float64."""
    return ROTTEN.floor[arm] + (ROTTEN.start[arm] - ROTTEN.floor[arm]) * 0.98**plays


@pytest.mark.slow
def test_regret_is_against_the_greedy_oracle():
    """In every round, from the plays of each arm: the oracle's means in its own state minus those of the plays."""
    horizon, policies = 200, {"UCB1": jaxbandit.UCB1(memory=jaxbandit.Window(50)), "first": Oracle([3.0, 2.0, 1.0])}
    result = simulate(ROTTEN, policies, runs=4, horizon=horizon, plays=2, times=range(1, horizon + 1), shuffle=True)
    assert metrics.regret_name(result) == "regret against the greedy oracle"
    played, best = np.zeros(3, int), []  # what the greedy oracle's plays pay on average, by a loop
    for _ in range(horizon):
        means = np.array([mean_of(k, played[k]) for k in range(3)])
        chosen = np.argsort(-means, kind="stable")[:2]
        best.append(means[chosen].sum())
        played[chosen] += 1
    by_plays = np.array([np.cumsum([0, *mean_of(k, np.arange(horizon))]) for k in range(3)])
    for label in policies:
        played = result.visits[label][0, 0].sum(-1)  # [run, round, arm]
        paid = sum(by_plays[k][played[..., k]] for k in range(3))
        np.testing.assert_allclose(metrics.regret(result, label)[0, 0], np.cumsum(best) - paid, atol=1e-4)
    assert metrics.regret(result, "first")[0, 0, :, -1].min() > 3
    with pytest.raises(ValueError, match="this result is of arms that rot"):
        metrics.pseudo_regret(result, "UCB1")


@pytest.mark.slow
def test_an_arm_that_rots_is_declared_or_said():
    """Undeclared, with the limit as its means, it would have no regret at all: the check finds it, simulate warns."""

    @jaxbandit.pytree
    class Undeclared(Rotting):
        declares = jaxbandit.Declares()
        means_now = None

    arms = Undeclared(np.array([0.9, 0.9]), np.array([0.2, 0.2]), 0.999)
    with pytest.raises(AssertionError, match=r"step: arm 0 moves from state 0 to .* Declares.problem=.rotting."):
        check_environment(arms, settle=2048)
    with pytest.warns(UserWarning, match=r"arm 0 paid 0.\d+ a play to 'UCB1', and means\(\) says 0.2"):
        simulate(arms, {"UCB1": jaxbandit.UCB1()}, runs=20, horizon=1000, times=[1000])
    simulate(arms, {"UCB1": jaxbandit.UCB1()}, runs=19, horizon=1000, times=[1000])  # too few to say so


@jaxbandit.pytree
class Silent(Rotting):
    means_now = None


@jaxbandit.pytree
class Short(Rotting):
    def means_now(self, state, t):
        return jnp.zeros(2)


def test_means_now_is_asked_for():
    for kind, words in (
        (Silent, 'declares the problem "rotting" and has no means_now; write means_now'),
        (Short, r"means_now: must return .* \[K\] = \(3,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            simulate(kind(ROTTEN.start, ROTTEN.floor), {"UCB1": jaxbandit.UCB1()}, runs=2, horizon=9)
