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
# # How far from the best?
#
# "Better than forty others" does not say how much is left. For two arms whose laws are drawn from a known prior, the
# most that any policy can collect is computed exactly. Here it is, beside policies that do not know the prior, and
# beside a network that learns it.

# %%
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import bounds, learning, metrics, stress
from jaxbandit.plotting import curve_style

# %% tags=["parameters"]
runs = 50
horizon = 40

# %% [markdown]
# ## The least there can be
#
# Bernoulli arms with uniform means: what is known of an arm is how often it paid and how often it did not, so backward
# induction over these counts finds the best choice after every history.

# %%
prior = [[1, 1], [1, 1]]
least = bounds.bayes_optimum(prior, horizon)
print(f"{horizon} rounds: reward {least.reward:.3f}, regret {least.regret:.3f}")

# %% [markdown]
# ## A network that learns the prior
#
# It never sees the prior, only problems drawn from it, and moves along the gradient of its own mean regret.

# %%
space = stress.PriorSpace(prior)
begun = jaxbandit.Learned.of(jaxbandit.Exchangeable(16), horizon=horizon)
trained = learning.train(begun, space, steps=400, runs=64, progress=False)
print(trained)

# %% [markdown]
# ## Everybody on new arms
#
# The arms are new, and so is the luck; all policies play the same arms with common random numbers.

# %%
points = np.random.default_rng(1).random((500, space.dimension))
arms = {str(n): space.problem(point).arms for n, point in enumerate(points)}
policies = {
    "Bayes optimum": jaxbandit.BayesOptimal.of(prior, horizon),
    "learned": trained.policy,
    "BayesGittins": jaxbandit.BayesGittins.of(prior[:1], discount=0.95, depth=horizon),
    "UCB1-Tuned": jaxbandit.UCB1Tuned(),
    "Thompson": jaxbandit.Thompson(),
    "IMED": jaxbandit.IMED(),
    "KL-UCB": jaxbandit.KLUCB(),
}
size = {"runs": runs, "horizon": horizon, "times": [horizon], "random_numbers": "independent", "progress": False}
result = jaxbandit.simulate(arms, policies, **size)
drawn = {label: metrics.bayes_regret(result, label) for label in policies}
for label, seen in drawn.items():
    print(f"{label:14} {seen.mean[0, -1] / least.regret:5.2f} times the least")

# %%
figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
for number, seen in enumerate(drawn.values()):
    mean, low, high = (float(part[0, -1]) / least.regret for part in seen[:3])
    colour = curve_style(number)["color"]
    ax.errorbar(mean, -number, xerr=[[mean - low], [high - mean]], fmt="o", color=colour, capsize=4)
ax.set_yticks(range(0, -len(drawn), -1), list(drawn))
ax.axvline(1, color="black", linewidth=1)
ax.set_xlabel(f"Bayes regret after {horizon} rounds / the least there can be (95 %)")
plt.show()

# %% [markdown]
# ## What it costs elsewhere
#
# Who learned a prior is good on average over it, not everywhere. `stress.worst` finds the arms on which the network
# loses most to the best of a panel; the page on learning has all this for chains and longer runs, too.
