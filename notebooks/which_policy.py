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
# # Which policy should I use?
#
# That depends on what may be slow. A policy that gives an arm up after a few bad plays saves much where bad arms hardly
# move, and settles on a wrong arm where it is the best one that is slow. No policy can be good at both, and the paper's
# scenarios never have a slow best arm. So: four environments, and a policy in each row.

# %%
import numpy as np

import jaxbandit
from jaxbandit import metrics, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 200
horizon = 50_000

# %%
scenarios = {
    "i.i.d. arms": jaxbandit.atlas["i.i.d. high"].arms,
    "scenario 1": jaxbandit.atlas["scenario 1"].arms,
    "bad arms slow\n(scenario 2)": jaxbandit.atlas["scenario 2"].arms,
    "best arm slow": jaxbandit.atlas["best20"].arms,
}
policies = {
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "IMED": jaxbandit.IMED(),
    "IMED-MC": jaxbandit.IMEDMC(),
    "IMED-MC, T^-1/2": jaxbandit.IMEDMC(exponent=0.5),
    "JointKLUCB, log t": jaxbandit.JointKLUCB(exploration=0.0),
}
result = jaxbandit.simulate(scenarios, policies, runs=runs, horizon=horizon)
result

# %% [markdown]
# ## One picture
#
# How many times the least mean regret of its column each policy pays: read a row to see where. The first three columns
# alone would recommend IMED.

# %%
mean = np.array([metrics.pseudo_regret(result, label)[:, 0, :, -1].mean(1) for label in policies])
linear = np.array([metrics.linear_share(result, label)[:, 0] for label in policies])
ratio = mean / mean.min(0)
names, label = list(scenarios), "mean regret, times the least of the column"
ax = plotting.plot_heatmap(ratio, list(policies), names, logarithmic=True, form="×{:,.1f}", label=label)

# %% [markdown]
# ## The answer in five lines
#
# IMED looks at the mean of a sample and IMED-MC at the likelihood of the whole chain; the exponent admits only chains
# that mix within the square root of an arm's plays. A run is linear if it still pays in every round at the end: then
# more rounds make its row worse.

# %%
names = ["i.i.d.", "scenario 1", "bad arms slow", "best arm slow"]
for label, regrets, shares in zip(policies, mean, linear):
    said = [f"{name} {r:,.0f}" + f" ({s:.1%} linear)" * bool(s) for name, r, s in zip(names, regrets, shares)]
    print(f"{label}: {', '.join(said)}")

# %% [markdown]
# So: where no arm can be slow, take the row that is least in the first two columns. Where nothing is known, take the
# one without linear runs in the last column, for a best arm that is lost costs in every round, and know its price,
# which is the column *bad arms slow*. Where bad arms may be stuck and must be given up, take the exponent, and know
# that a best arm that is far slower would be given up as well: `bounds.price_of_slow_arms` says what it costs to be
# safe from that. `python -m experiments.front` has more environments, and every start.
