"""Pytree dataclasses: what is a leaf, what is the program, and that no two classes are taken for each other."""

import dataclasses
from itertools import combinations

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit import ALL
from jaxbandit.base import pytree, stack, static
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
