"""Fits to choices: against plain loops, SciPy's optimiser, finite differences, and players with known fields."""

from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import jaxbandit
from jaxbandit import UCB1, Exp3, RescorlaWagner, Soft, Thompson
from jaxbandit.choices import (
    choice_fit,
    fit,
    fit_population,
    log_likelihood,
    population_fit,
    read_choices,
    recover,
    recover_models,
    recovery,
)
from jaxbandit.choices.parameter_ranges import ranges_of

SEEN = read_choices({"arm": list("0110111001"), "reward": list("1010110011")})
ARMS = jaxbandit.bernoulli([0.7, 0.3])
RANGES = {"learning_rate": (0, 1), "inverse_temperature": (0, 20)}


def rescorla_wagner(choices, number, alpha, beta, initial=0.5, below=None, forgetting=0.0, stickiness=0.0):
    """The log-likelihood of choices (arm, reward) by a loop, probabilities before each update."""
    values, last, sum_ = np.full(number, initial), np.zeros(number), 0.0
    for arm, reward in choices:
        weights = np.exp(beta * values + stickiness * last)
        sum_ += np.log(weights[arm] / weights.sum())
        rate = below if below is not None and reward < values[arm] else alpha
        learned = values[arm] + rate * (reward - values[arm])
        values = values + forgetting * (initial - values)
        values[arm], last = learned, np.arange(number) == arm
    return sum_


def exp3(choices):
    """The log does not say with which probability a subject chose, so the policy weighs by its own."""
    gains, sum_ = np.zeros(3), 0.0
    for arm, reward in choices:
        weights = np.exp(0.2 / 3 * (gains - gains.max()))
        chances = 0.8 * weights / weights.sum() + 0.2 / 3
        sum_ += np.log(chances[arm])
        gains[arm] += reward / chances[arm]
    return sum_


def soft_ucb1(choices):
    """With the score 1 for arms without a play."""
    plays, gained, sum_ = np.zeros(3), np.zeros(3), 0.0
    for t, (arm, reward) in enumerate(choices, 1):
        many = np.maximum(plays, 1)
        scores = np.where(plays > 0, gained / many + np.sqrt(2 * np.log(max(t - 1, 1)) / many), 1)
        sum_ += scores[arm] / 0.4 - np.log(np.exp(scores / 0.4).sum())
        plays[arm] += 1
        gained[arm] += reward
    return sum_


@pytest.mark.parametrize(
    ("policy", "loop"),
    [
        (RescorlaWagner(0.6, 4.0, 0.2, None, 0.3), lambda seen: rescorla_wagner(seen, 3, 0.6, 4.0, 0.2, None, 0.3)),
        (
            RescorlaWagner(0.2, 1.0, 0.5, 0.4, 0.2, -0.8),
            lambda seen: rescorla_wagner(seen, 3, 0.2, 1.0, 0.5, 0.4, 0.2, -0.8),
        ),
        (Exp3(0.2), exp3),
        (Soft(UCB1(bonus=2.0), 0.4, highest=1.0), soft_ucb1),
    ],
    ids=["rescorla-wagner", "two-rates", "exp3", "soft-ucb1"],
)
def test_likelihoods_by_a_loop(policy, loop):
    """Three arms, subjects with 20, 1 and 35 choices."""
    random = np.random.default_rng(1)
    rows = [
        (n, random.integers(3), random.integers(3) / 2) for n, rounds in enumerate((20, 1, 35)) for _ in range(rounds)
    ]
    seen = read_choices(dict(zip(("subject", "arm", "reward"), map(list, zip(*rows)))), arms=range(3))
    exact = [loop([row[1:] for row in rows if row[0] == n]) for n in range(3)]
    np.testing.assert_allclose(log_likelihood(policy, seen), exact, rtol=1e-9)


def test_a_likelihood_by_quadrature():
    """Of Thompson sampling, to ten digits."""
    assert log_likelihood(Thompson(), SEEN)[0] == pytest.approx(-8.175559749, abs=1e-8)
    assert str(SEEN) == "1 subjects with 10 choices among 2 arms"


def test_choices_of_probability_zero(monkeypatch):
    """UCB1 tries all arms first; a subject who does not never follows it. Nothing climbs: it would only be compiled."""
    for module in (choice_fit, population_fit):
        monkeypatch.setattr(module, "descended", lambda loss, begin: begin)
    soft, ranges = Soft(UCB1(bonus=2.0), 0.4), {"temperature": (0.05, 5)}
    seen = read_choices({"subject": [1, 1, 2, 2], "arm": [0, 1, 0, 0], "reward": [0, 1, 1, 0]})
    fitted = fit(soft, seen, ranges, starts=1)
    assert np.isfinite(fitted.log_likelihood[0]) and fitted.log_likelihood[1] == -np.inf
    assert np.isnan(fitted.estimates[1]).all() and np.isnan(fitted.standard_errors[1]).all()
    with pytest.raises(ValueError, match="choices: those of subject '2' have probability 0"):
        fit_population(soft, seen, ranges)


def test_softmax_draws_and_infinite_scores():
    """40,000 draws against the probabilities: false once in 10^6 for each arm, and .013 off is noticed."""
    table = jnp.array([[0.0, 1.0]] * 3)
    new = UCB1().init(table)
    policy, state = Soft(UCB1(), 0.3), new._replace(counts=jnp.array([[3, 2], [0, 0], [0, 0]]))
    np.testing.assert_allclose(policy.probabilities(state, 6), [0, 0.5, 0.5])
    np.testing.assert_allclose(policy.probabilities(new, 1), [1 / 3] * 3, rtol=1e-6)
    seen = new._replace(counts=jnp.array([[3, 2], [1, 4], [2, 1]]))
    keys = jax.random.split(jax.random.key(0), 40_000)
    played = jax.jit(jax.vmap(lambda key, now, t: jnp.argmax(policy.scores(key, now, t)[0]), (0, None, None)))
    for now, t in ((state, 6), (seen, 14)):
        shares = np.bincount(played(keys, now, t), minlength=3) / len(keys)
        np.testing.assert_allclose(shares, policy.probabilities(now, t), atol=4.9 * 0.5 / 200)
    for wrong, message in (
        (Soft(Thompson()), "policy: Thompson chooses by chance"),
        (Soft(UCB1(), 0.0), "temperature: "),
    ):
        with pytest.raises(ValueError, match=message):
            wrong.validate(jaxbandit.Task(jaxbandit.bernoulli([0.5, 0.4])))


@pytest.mark.slow
def test_estimates_errors_and_their_coverage():
    """Of 200 players with 300 rounds: a share of covered truths of .95 leaves (.87, 1) less than once in 10^5, and
    errors that are 30 % too small are noticed. Two of them against Nelder and Mead on the loop's likelihood, with
    errors from its second differences."""
    truth = np.random.default_rng(3).uniform((0.3, 2.0), (0.7, 5.0), (200, 2))
    with mock.patch.object(recovery, "fit", wraps=fit) as fitting:
        result = recover(RescorlaWagner(), RANGES, ARMS, truth=truth, rounds=300, starts=1)
    assert (result.coverage > 0.87).all()
    assert (abs(result.bias) < (0.05, 0.5)).all() and (result.correlation > (0.7, 0.8)).all()
    assert not result.fitted.at_edge.mean() > 0.03
    assert np.isnan(result.fitted.standard_errors[result.fitted.at_edge.any(1)]).all()
    np.testing.assert_allclose(result.fitted.bic - result.fitted.aic, 2 * np.log(300) - 4)
    assert f"AIC {result.fitted.aic.sum():,.2f}" in str(result.fitted)
    fitted, h, played = result.fitted, 1e-4, fitting.call_args.args[1]
    for n in np.flatnonzero(np.isfinite(fitted.standard_errors).all(1))[:2]:

        def loss(x, n=n):
            return -rescorla_wagner(list(zip(played.arm[n], played.reward[n])), 2, *x)

        exact = optimize.minimize(loss, fitted.estimates[n], method="Nelder-Mead", options={"xatol": 1e-7})
        np.testing.assert_allclose(fitted.estimates[n], exact.x, atol=2e-4)
        assert fitted.log_likelihood[n] == pytest.approx(-exact.fun, abs=1e-7)
        signs, steps = (-1, 1), h * np.eye(2)
        second = [
            [sum(a * b * loss(exact.x + a * i + b * j) for a in signs for b in signs) / (4 * h * h) for j in steps]
            for i in steps
        ]
        np.testing.assert_allclose(fitted.standard_errors[n], np.sqrt(np.diag(np.linalg.inv(second))), rtol=2e-3)


@pytest.mark.slow
def test_a_population():
    """200 players with normal logits: mean and spread within five standard errors, which is false once in 10^6."""
    random = np.random.default_rng(4)
    mean, spread = np.array([-0.4, -1.0]), np.array([0.8, 0.5])
    logits = mean + spread * random.standard_normal((200, 2))
    ends = np.array(list(RANGES.values()), float)
    truth = ends[:, 0] + (ends[:, 1] - ends[:, 0]) / (1 + np.exp(-logits))
    policy = RescorlaWagner()
    played = recovery.choices_of(policy, ranges_of(policy, RANGES), ARMS, truth, 150, jax.random.key(5))
    result = fit_population(policy, played, RANGES, most_steps=6)
    assert (abs(result.mean - mean) < 5 * np.array([0.1, 0.07])).all()  # spread and posterior errors over sqrt(200)
    assert (abs(result.spread - spread) < 5 * np.array([0.1, 0.07])).all()
    middle = ((result.typical - truth) ** 2).mean(0)
    assert (((result.estimates - truth) ** 2).mean(0) < 0.7 * middle).all()
    inside = (result.low < truth) & (truth < result.high)
    assert (inside.mean(0) > 0.85).all()


@pytest.mark.slow
def test_models_are_told_apart():
    """Players who learn quickly, and players who repeat whatever they did; 8 of each are all recognised."""
    sticky = RescorlaWagner(inverse_temperature=0.0, perseveration=3.0), {"perseveration": (2, 5)}
    quick = RescorlaWagner(learning_rate=0.8, inverse_temperature=10.0), {"perseveration": (-0.5, 0.5)}
    models = {"learns": quick, "repeats": sticky}  # fields of one name are one program
    result = recover_models(models, jaxbandit.bernoulli([0.6, 0.5]), subjects=8, rounds=100, starts=1)
    assert result.counts.tolist() == [[8, 0], [0, 8]]
    assert "100.0%" in str(result)


def test_tables_that_do_not_fit_are_named(tmp_path):
    file = tmp_path / "choices.tsv"
    file.write_text("subjID\ttrial\tchoice\toutcome\nann\t1\tleft\t1\nann\t2\tright\t0\nbob\t1\tleft\tx\n")
    columns = {"subject": "subjID", "arm": "choice", "reward": "outcome"}
    with pytest.raises(ValueError, match="line 4: outcome 'x' is not a number"):
        read_choices(file, columns=columns)
    with pytest.raises(ValueError, match="choice 'right' is not among the arms"):
        read_choices(file, columns=columns, arms=["left", "middle"])
    file.write_text(file.read_text().replace("x", "1"))
    seen = read_choices(file, columns=columns)
    assert seen.subjects == ("ann", "bob") and seen.arms == ("left", "right")
    assert seen.number.tolist() == [2, 1] and seen.state.tolist() == [[1, 0], [1, 0]]


def fit_of_seen(policy=RescorlaWagner(), **ranges):  # noqa: B008 (it is frozen)
    return fit(policy, SEEN, ranges)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: fit_of_seen(jaxbandit.KLUCB(), exploration=(0, 1)), "policy: KLUCB has no method probabilities"),
        (lambda: fit_of_seen(rate=(0, 1)), "ranges: 'rate' is not a field"),
        (lambda: fit_of_seen(RescorlaWagner(1), learning_rate=(0, 1)), "only real numbers are fitted"),
        (lambda: fit_of_seen(learning_rate_below=(0, 1)), "learning_rate_below is None"),
        (lambda: fit_of_seen(learning_rate=(0, 2)), r"ranges\['learning_rate'\]: .* lies outside \[0, 1\]"),
        (lambda: fit_of_seen(learning_rate=(1, 0)), r"is not \(low, high\) with low < high"),
        (lambda: fit_population(RescorlaWagner(), SEEN, RANGES), "choices: of one subject"),
        (lambda: log_likelihood(jaxbandit.PosteriorGittins(), SEEN), "chooses by chance, with probabilities that"),
        (lambda: recover(RescorlaWagner(), RANGES, jaxbandit.bernoulli([0.5, 0.4]), truth=[1, 2]), "truth: shape"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
