"""Your own policy in ten lines: checked, compared with the library's, and used round by round on live feedback."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit
from jaxbandit.command_line.options import Quick, main, option
from jaxbandit.policies import memory


@jaxbandit.pytree
class EpsilonGreedy:
    """The best sample mean, or with probability min(1, c K / t) any arm (Auer, Cesa-Bianchi and Fischer 2002)."""

    c: float = 5.0

    def init(self, reward):
        return memory.no_visits(reward)

    def scores(self, key, state, t):
        coin, noise = jax.random.split(key)
        mean, plays = state.mean_and_plays()
        explore = jax.random.uniform(coin) < self.c * mean.shape[0] / t
        return jnp.where(explore, jax.random.uniform(noise, mean.shape), jnp.where(plays == 0, jnp.inf, mean)), state

    def update(self, state, feedback):
        return state.counted(feedback)


def compare(runs: int, horizon: int) -> jaxbandit.Result:
    """Check the policy, then run a grid of its c beside KL-UCB: a new value of c compiles nothing."""
    jaxbandit.testing.check_policy(EpsilonGreedy())
    arms = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
    grid = [EpsilonGreedy(c) for c in (0.5, 5.0, 50.0)]
    result = jaxbandit.simulate(arms, {"KL-UCB": jaxbandit.KLUCB(), "greedy": grid}, runs=runs, horizon=horizon)
    for label in result.labels:
        final = jaxbandit.metrics.summary(jaxbandit.metrics.pseudo_regret(result, label)[0, :, :, -1])
        print(f"{label:8s} mean regret {final.mean.round(1)}, worst 5% {final.worst.round(1)}")
    return result


def live(rounds: int = 200) -> list[int]:
    """The same policy on feedback from outside, one arm at a time, without the simulator."""
    table = np.array([[0.0, 1.0]] * 3)  # three buttons; state 0, not clicked, pays 0, and state 1, clicked, pays 1
    visitor = np.random.default_rng(0)
    policy, key = EpsilonGreedy(), jax.random.key(0)
    state, last = policy.init(table), [0, 0, 0]  # what each button last showed; state 0 before it was ever shown
    for t in range(1, rounds + 1):
        scores, state = policy.scores(jax.random.fold_in(key, t), state, t)
        arm = int(jaxbandit.top_arms(scores, 1)[0])
        clicked = int(visitor.random() < (0.2, 0.5, 0.3)[arm])
        state = policy.update(state, jaxbandit.Feedback.of(arm, clicked, t=t, table=table, before=last[arm]))
        last[arm] = clicked
    return state.counts.sum(1).tolist()


@dataclasses.dataclass(frozen=True)
class Settings(Quick):
    """Options of the comparison."""

    runs: int = option(200, "independent runs of every policy")
    horizon: int = option(10_000, "rounds of a run")


def run(settings: Settings) -> None:
    """Compare, then play live, and print both."""
    compare(settings.runs, settings.horizon)
    print(f"live: plays of each button {live()}")


if __name__ == "__main__":
    main(run, Settings, "own_policy", __doc__)
