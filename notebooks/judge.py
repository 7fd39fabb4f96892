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
# # Where does a policy fail?
#
# An author tries a policy on arms that come to mind. Here an opponent chooses them: random arms first, then a search
# for those on which the policy loses most to others.

# %%
import jax.numpy as jnp
import matplotlib.pyplot as plt

import jaxbandit
from jaxbandit import metrics, plotting, stress
from jaxbandit.policies import memory

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 500
horizon = 10_000

# %% [markdown]
# ## A policy in ten lines
#
# Successive elimination: an arm whose upper confidence bound is below the largest lower bound is out, and of the
# others the one with the fewest plays is played. The confidence intervals are Hoeffding's, for independent rewards.


# %%
@jaxbandit.pytree
class Eliminating:
    width: float = 0.5

    def init(self, reward):
        return memory.no_visits(reward)

    def scores(self, key, state, t):
        mean, plays = state.mean_and_plays()
        radius = jnp.sqrt(self.width * jnp.log(t) / (2 * jnp.maximum(plays, 1)))
        out = mean + radius < jnp.max(mean - radius)
        return jnp.where(out, -jnp.inf, -plays.astype(float)), state

    def update(self, state, feedback):
        return state.counted(feedback)


jaxbandit.testing.check_policy(Eliminating())  # silence is good

# %% [markdown]
# ## Random arms
#
# `stress.over` plays random problems: here two arms with two states. The speed p01 + p10 of each arm is log-uniform
# from .001 to 1, its mean uniform from .05 to .95. *Avoidable* regret is what the best policy of a panel would have
# saved on the same problem, with the same random numbers.

# %%
problems, budget = 64, 96  # how many problems are drawn, and how many a search plays
space = stress.TwoStateSpace()
panel = {"KL-UCB": jaxbandit.KLUCB(), "IMED-MC": jaxbandit.IMEDMC(exponent=0.55)}
asked = {"panel": panel, "horizon": horizon, "progress": False}
survey = stress.over(space, {"eliminating": Eliminating()}, problems=problems, runs=32, **asked)
print(survey)
for label in panel:
    print(f"\neliminating less {label}: {survey.difference('eliminating', label)}", end="")

# %% [markdown]
# Differences are paired problem by problem; where the interval holds 0, these problems do not tell the two policies
# apart. Each interval holds with a probability of 95 % by itself. For both to hold together they have to be a fifth
# wider, and then both hold 0: over this space the policy is told apart from neither of the panel. On its worst problem
# it is.
#
# ## The worst arms
#
# `stress.worst` searches. What it reports is measured on runs that the search never saw; what the search believed
# stands beside it.

# %%
(found,) = stress.worst(Eliminating(), space, budget=budget, number=1, runs=runs, **asked)
print(found)

# %% [markdown]
# The first line makes these arms. The best arm is a slow one: it stays in each of its states for hundreds of plays or
# more. Where it begins in the state that pays nothing, a few dozen plays say that its mean is 0, and it is out.

# %%
policies = {"eliminating": Eliminating(), **panel}
result = jaxbandit.simulate(found.arms, policies, runs=runs, horizon=horizon, progress=False)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plotting.plot_regret(result, ax=left)
_ = plotting.plot_distribution(result, ax=right)

# %% [markdown]
# ## What to change?
#
# A wider interval keeps a slow arm in the game for longer.

# %%
wider = {f"width {width}": Eliminating(width) for width in (0.5, 1.0, 2.0)}
print(stress.over(space, wider, problems=problems, runs=32, **asked))
(again,) = stress.worst(Eliminating(2.0), space, budget=budget, number=1, runs=runs, **asked)
print(f"\nwidth 0.5: {found.avoidable} avoidable on its worst arms\nwidth 2.0: {again.avoidable} on its own")

# %% [markdown]
# And its price? `jaxbandit.atlas` has problems by name. In scenario 1 all arms move often, and in best20 the best one
# is slow.

# %%
named = {name: jaxbandit.atlas[name].arms for name in ("scenario 1", "i.i.d. high", "best20")}
result = jaxbandit.simulate(named, wider | panel, runs=runs, horizon=horizon, times=[horizon], progress=False)
print(f"{'':12}" + "".join(f"{name:>14}" for name in named))
for label in result.labels:
    finals = metrics.regret(result, label)[:, 0, :, -1].mean(axis=-1)
    print(f"{label:12}" + "".join(f"{final:14,.0f}" for final in finals))

# %% [markdown]
# So a wider interval loses less on its own worst arms, and more on arms that move often: no width is good at both. On
# best20 these means do not tell which width is best. From a shell, one
# command plays all of this and every other named problem, for a policy in a file of yours, and writes it on one page
# with pictures:
#
# ```shell
# jaxbandit judge 'mine.py:Eliminating(width=0.5)' 'mine.py:Eliminating(width=2.0)'
# ```
