# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A policy of one's own
#
# A policy is a dataclass of numbers with three pure functions, written for one run: the state before the first round,
# the scores of the arms, and the state after a round. Nothing is registered and nothing inherited.

# %%
import jax.numpy as jnp
import matplotlib.pyplot as plt

import jaxbandit
from jaxbandit import metrics, plotting
from jaxbandit.policies import memory

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 1000
horizon = 10_000

# %% [markdown]
# MOSS in its anytime form (Degenne and Perchet 2016) plays the largest mean + √((1 + α)/2 · max(0, log(t / (K T))) /
# T), T the arm's plays; `jaxbandit.MOSS` is this with α = 1.


# %%
@jaxbandit.pytree
class MOSS:
    alpha: float = 1.35

    def init(self, reward):  # reward [K, S]: what each state pays
        return memory.no_visits(reward)

    def scores(self, key, state, t):  # [K]: the largest is played, the lowest arm on ties
        mean, plays = state.mean_and_plays()
        T = jnp.maximum(plays, 1)
        bonus = jnp.sqrt((1 + self.alpha) / 2 * jnp.maximum(0, jnp.log(t / (len(T) * T))) / T)
        return jnp.where(plays == 0, jnp.inf, mean + bonus), state

    def update(self, state, feedback):
        return state.counted(feedback)


# %% [markdown]
# ## Check it
#
# `check_policy` plays a small problem with and without `jit`, alone and in a batch, and says what is broken. Silence is
# good.

# %%
jaxbandit.testing.check_policy(MOSS())

# %% [markdown]
# A common slip: an arm that was never played divides 0 by 0.


# %%
@jaxbandit.pytree
class Hasty(MOSS):
    def scores(self, key, state, t):
        mean, plays = state.mean_and_plays()
        return mean + jnp.sqrt(jnp.log(t) / plays), state


try:
    jaxbandit.testing.check_policy(Hasty())
except AssertionError as error:
    print(error)

# %% [markdown]
# ## Compare it
#
# α is a number of the policy, so a list of values is one program: no value compiles anything anew. MOSS was made for
# i.i.d. rewards; the second scenario has the same means, as chains that move a tenth as often as those of scenario 1.

# %%
p01, p10 = jnp.array([[0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7]])
slow = jaxbandit.two_state(p01 / 10, p10 / 10)
scenarios = {"i.i.d. arms": jaxbandit.bernoulli(slow.means()), "slow chains": slow}
alphas = [1.35, 0.0, 0.5, 3.0, 6.0]
policies = {
    "MOSS": [MOSS(alpha) for alpha in alphas],
    "UCB1": jaxbandit.UCB1(),
    "KL-UCB": jaxbandit.KLUCB(),
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
}
result = jaxbandit.simulate(scenarios, policies, runs=runs, horizon=horizon)

# %%
figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
for scenario, ax in enumerate(axes):
    plotting.plot_regret(result, scenario=scenario, variant=0, ax=ax)

# %% [markdown]
# MOSS is drawn with its first α (`variant=0`). Now for every α, with the 90 % quantile of the runs dashed: more
# exploration costs regret on i.i.d. arms, and saves it where an arm can look bad for long.

# %%
figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
for scenario, ax in enumerate(axes):
    plotting.plot_parameter(result, alphas, ["MOSS"], parameter="α", scenario=scenario, quantiles=(0.9,), ax=ax)

# %%
result

# %% [markdown]
# Is it better than the library's? Run by run, on the same luck; a policy beats another where the interval excludes 0.

# %%
for c, scenario in enumerate(result.scenarios):
    for label in ("UCB1", "KL-UCB", "TV-KL-UCB"):
        paired = metrics.summary(metrics.paired_difference(result, "MOSS", label)[c, 0])
        print(f"{scenario}: MOSS minus {label:9s} {paired.mean:+8.1f}  ({paired.low:+.1f} to {paired.high:+.1f})")

# %% [markdown]
# `experiments/own_policy.py` uses a policy round by round on live feedback, without the simulator.
