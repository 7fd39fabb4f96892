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
# # Regret and its bounds
#
# How far is a policy from what any good policy must pay? Two scenarios with the same means: i.i.d. arms, and the chains
# of the paper's scenario 1.

# %%
import matplotlib.pyplot as plt

import jaxbandit
from jaxbandit import bounds, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 250
horizon = 200_000

# %%
chains = jaxbandit.atlas["scenario 1"].arms
scenarios = {"i.i.d. arms": jaxbandit.bernoulli(chains.means()), "scenario 1": chains}
policies = {"KL-UCB": jaxbandit.KLUCB(), "IMED": jaxbandit.IMED(), "TV-KL-UCB": jaxbandit.TVKLUCB()}
result = jaxbandit.simulate(scenarios, policies, runs=runs, horizon=horizon)

# %% [markdown]
# ## The constants
#
# Asymptotic bounds are constants times log n, one term an arm. They need no simulation: float64 functions of the
# environment, each with the class of problems it holds for.

# %%
shown = {
    name: [bounds.lower(arms), bounds.lower_paper(arms), bounds.upper_asymptotic(arms)]
    for name, arms in scenarios.items()
}
shown["i.i.d. arms"].insert(0, bounds.lai_robbins(scenarios["i.i.d. arms"]))
for name, these in shown.items():
    print(name)
    for bound in these:
        print(f"  {bound.label:38s} {bound.total:7.3f} log n   {bound.holds_for}")

# %% [markdown]
# For i.i.d. arms the paper's upper bound equals the bound of Lai and Robbins, for policies that need only be good for
# i.i.d. arms. A policy that is good for all chains must pay more, which is the tight lower bound: it has to rule out
# that a bad arm is a good chain.
#
# A bound that does not exist says why:

# %%
try:
    bounds.lai_robbins(chains)
except ValueError as error:
    print(error)

# %% [markdown]
# ## Regret beside them
#
# A bound is about the slope against log t: in early rounds a policy's regret may well lie below its lower bound.


# %%
def draw(**options):
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    for scenario, (ax, arms) in enumerate(zip(axes, scenarios.values())):
        both = [bounds.lower(arms), bounds.upper_asymptotic(arms)]
        plotting.plot_regret(result, scenario=scenario, bounds=both, ax=ax, **options)
        ax.get_legend().remove()
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)


draw()

# %% [markdown]
# ## Normalised
#
# Regret divided by log t: where regret is logarithmic the line levels off, slowly, at the policy's constant. A few runs
# with linear regret bend a mean upwards and widen its band; the 90 % quantile does not see them.

# %%
draw(normalised=True, quantiles=(0.9,))

# %% [markdown]
# In scenario 1 the paper's upper bound lies *below* the lower bounds, its own included: its two theorems contradict
# each other there. A policy below the lower bound contradicts nothing: it is not good for all chains, or it has not
# come far enough.

# %%
result

# %% [markdown]
# `bounds.upper_finite` is the paper's bound at finite n, `ucb_sm_constant` and `ucb_sm_upper` are UCB-SM's, and `python
# -m experiments.optimality` plays ten million rounds.
