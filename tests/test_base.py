"""What all is built on: dataclasses that are pytrees, and rows of probabilities wherever they are given."""

import dataclasses
from itertools import combinations

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit import ALL, bounds, chains, confidence, families, indices, markov, simulate
from jaxbandit.base import pytree, stack, static
from jaxbandit.environments import RestlessArms, hidden, restless
from jaxbandit.policies import HiddenMyopic, Myopic
from jaxbandit.probabilities import stochastic
from jaxbandit.simulation.telling import fingerprint


@pytree
class Both:
    number: float = 1.0
    name: str = static("a")
    absent: float | None = None


def test_leaves_and_structure():
    assert jax.tree.leaves(Both(2.0)) == [2.0]
    assert jax.tree.map(lambda x: x + 1, Both(2.0, "b")) == Both(3.0, "b")
    paths = jax.tree_util.tree_leaves_with_path(Both(2.0))
    assert jax.tree_util.keystr(paths[0][0]) == ".number"
    assert jax.tree.structure(Both()) == jax.tree.structure(Both(5.0))
    assert jax.tree.structure(Both()) != jax.tree.structure(Both(name="b"))
    assert jax.tree.structure(Both()) != jax.tree.structure(Both(absent=1.0))
    with pytest.raises(AttributeError):
        Both().number = 3.0  # type: ignore[misc]


def test_a_class_is_decorated_once():
    """A second time the class would forget which of its fields are static."""
    with pytest.raises(ValueError, match=r"^cls: Both is a dataclass already; write the class without that decorator$"):
        pytree(Both)
    assert jax.tree.leaves(Both(2.0)) == [2.0]
    assert fingerprint.values(Both(2.0)) == {"number": "float64[] 2.0", "name": "a"}


def test_two_classes_with_equal_fields_are_not_equal():
    """Equal structures would let jit use one policy's program for another, whenever their hashes collide."""

    @pytree
    class Twin:
        number: float = 1.0
        name: str = static("a")
        absent: float | None = None

    assert jax.tree.structure(Both()) != jax.tree.structure(Twin())
    for left, right in combinations(ALL, 2):
        assert jax.tree.structure(ALL[left]()) != jax.tree.structure(ALL[right]())


def test_calls_that_jax_traces_are_refused():
    """The key, an environment's and a policy's numbers, and a key that is the default."""
    arms, keys = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55]), jax.random.split(jax.random.key(0), 2)

    def play(key=None, scale=1.0, share=1.0):
        scaled = dataclasses.replace(arms, transition=arms.transition * share)
        jaxbandit.simulate(scaled, {"TV": jaxbandit.TVKLUCB(scale=scale)}, runs=2, horizon=9, key=key)

    for call, name in (
        (lambda: jax.vmap(play)(keys), "key"),
        (lambda: jax.jit(play)(keys[0]), "key"),
        (lambda: jax.jit(play)(), "key"),
        (lambda: jax.vmap(jaxbandit.random_arms)(keys), "key"),
        (lambda: jax.jit(jaxbandit.environments.random_decision_process)(keys[0]), "key"),
        (lambda: jax.vmap(lambda scale: play(scale=scale))(np.ones(2)), r"policies\['TV'\]"),
        (lambda: jax.grad(lambda share: play(share=share))(1.0), r"scenarios\['scenario'\]"),
    ):
        with pytest.raises(ValueError, match=f"^{name}: is traced by jax.jit, jax.vmap or jax.grad; call this outside"):
            call()


@pytest.mark.slow
def test_text_is_short():
    many = jaxbandit.random_arms(jax.random.key(0), 20, 5)
    hidden = jaxbandit.environments.hidden(many.transition, np.full((20, 5, 5), 0.2), np.arange(5.0))
    for arms in (many, hidden, jaxbandit.environments.beta(np.ones(30), np.ones(30)), jaxbandit.Gittins.of(many, 0.9)):
        assert len(repr(arms)) < 500 and "threshold" not in repr(arms) and "\n" not in repr(arms)
    seen = []
    jax.jit(lambda x: seen.append(repr(Both(x))))(1.0)  # a number that is not known yet has none
    assert "float32[]" in seen[0]

    @pytree
    class Own:
        number: float = 1.0

        def __repr__(self):
            return "mine"

    assert repr(Own()) == "mine"


def test_stack():
    np.testing.assert_array_equal(stack([Both(1.0), Both(2.0)], "things").number, [1.0, 2.0])
    with pytest.raises(ValueError, match="things: .* are not alike"):
        stack([Both(1.0), Both(1.0, "b")], "things")
    with pytest.raises(ValueError, match="things: .* are not alike"):
        stack([jaxbandit.KLUCB(), jaxbandit.RoundRobinKLUCB()], "things")
    with pytest.raises(ValueError, match="things: shapes disagree"):
        stack([Both(np.ones(2)), Both(np.ones(3))], "things")


# rows of probabilities: those of float32 are divided by their sums, worse ones are refused

PAYS = (0.0, 0.5, 1.0)
ROWS = jax.random.dirichlet(jax.random.key(0), np.ones(3), (4, 3))  # float32, as JAX draws them
EXACT = np.asarray(ROWS, float) / np.asarray(ROWS, float).sum(-1, keepdims=True)


def own_arms(rows) -> RestlessArms:
    """Arms whose author fills the fields by hand, so that no function has seen the rows."""
    arms = markov(EXACT, PAYS)
    return type(arms)(rows, arms.reward, arms.initial, arms.transition_thresholds, arms.initial_thresholds)


# what is made of rows [4, 3, 3], everywhere they are taken
TAKEN = {
    "markov": lambda rows: markov(rows, PAYS).transition,
    "restless": lambda rows: restless(EXACT, PAYS, rows).passive,
    "hidden": lambda rows: hidden(EXACT, rows, PAYS).emission,
    "gittins": lambda rows: indices.gittins(rows, PAYS, 0.99),
    "with_start": lambda rows: indices.with_start(EXACT, PAYS, rows[:, 0])[0],
    "gittins_value": lambda rows: indices.gittins_value(rows, PAYS, 0.99, rows[:, 0]),
    "whittle": lambda rows: indices.whittle(rows, EXACT, PAYS, discount=0.9).index,
    "chain_family": lambda rows: families.chain_family(rows[0], PAYS).divergence(0.4, 0.5),
    "stationary": lambda rows: chains.stationary(rows[0]),
    "relative_values": lambda rows: chains.relative_values(rows[0], np.array(PAYS)),
    "reward_gap": lambda rows: chains.reward_gap(rows[0], np.array(PAYS)),
    "kl_rate": lambda rows: chains.kl_rate(rows[0], rows[1]),
    "eigenvalue_gap": lambda rows: chains.eigenvalue_gap(rows[0], symmetrise=True),
    "thresholds": lambda rows: chains.thresholds(rows[0]),
    "lower": lambda rows: bounds.lower(own_arms(rows)).per_arm,
}


@pytest.mark.parametrize("name", TAKEN)
def test_rows_of_float32_are_divided_by_their_sums_and_worse_ones_refused(name):
    """What comes of them is what comes of the rows that were divided by hand; some are off by more than 1e-8."""
    assert np.abs(np.asarray(ROWS, float).sum(-1) - 1)[:2].max() > 2e-8
    np.testing.assert_allclose(TAKEN[name](ROWS), TAKEN[name](EXACT), rtol=1e-13)
    with pytest.raises(ValueError, match=r"^\w+: row \d( of arm \d)? sums to 1.00000\d*, not to 1; .* rows.sum\(-1"):
        TAKEN[name](EXACT * (1 + 2e-6))


def test_what_rounding_made_negative_is_zero():
    """1 - 0.8 - 0.2 is -5.6e-17 in float64; a probability below -1e-6 is not a rounding error."""
    left = 1 - 0.8 - 0.2
    assert left < 0
    assert markov([[[0.8, 0.2, left], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]] * 2, PAYS).transition[0, 0, 2] == 0
    with pytest.raises(ValueError, match="^transition: negative probability -2e-06"):
        markov([[[0.8, 0.200002, -2e-6], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]] * 2, PAYS)


@pytest.mark.slow
def test_policies_and_confidence_take_rows_of_float32():
    arms = restless(ROWS, PAYS)
    simulate(arms, {"myopic": Myopic(ROWS, ROWS[:, 0])}, runs=1, horizon=2)
    simulate(hidden(ROWS, ROWS, PAYS), {"myopic": HiddenMyopic(ROWS, ROWS, ROWS[:, 0])}, runs=1, horizon=2)
    assert 0 < confidence.stationary_mean_upper(ROWS[0], np.array(PAYS), 0, 0.1) < 1
    with pytest.raises(ValueError, match=r"^policies\['myopic'\].initial: row 1 sums to 0\.[89].*; mend it"):
        simulate(arms, {"myopic": Myopic(ROWS, EXACT[:, 0] * [[1], [0.9], [1], [1]])}, runs=1, horizon=2)


def test_one_row_alone_is_named_as_such():
    with pytest.raises(ValueError, match="^law: it sums to 0.5, not to 1"):
        stochastic("law", np.array([0.25, 0.25]))
    row = np.array([0.7, 0.2, 0.1])  # the sum is 1 - 1.1e-16
    assert (stochastic("law", row, 1e-12) == row).all() and (stochastic("law", row) != row).any()


def test_arms_with_different_numbers_of_states_are_told_to_be_padded():
    """The message says how, and what it says works: a padded arm is played as the arm it stands for."""
    two, three = [[0.5, 0.5], [0.4, 0.6]], EXACT[0].tolist()
    arrays = [np.array(two), np.array(three)]
    for transition, reward in (([two, three], PAYS), (arrays, PAYS), (EXACT[:2], [[0, 1], PAYS])):
        with pytest.raises(ValueError, match="lists of different lengths have to be padded: .*columns of 0"):
            markov(transition, reward)
    with pytest.raises(ValueError, match="^transition: .* padded"):
        indices.gittins([two, three], PAYS, 0.9)
    padded = markov([[[0.5, 0.5, 0], [0.4, 0.6, 0], [1, 0, 0]], three], [[0, 1, 0], PAYS])
    assert padded.means()[0] == pytest.approx(5 / 9, rel=1e-15)
    with pytest.raises(ValueError, match="is not an array of numbers$"):
        markov("chain", PAYS)
