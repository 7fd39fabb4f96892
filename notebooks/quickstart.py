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
# # Quickstart
#
# Five arms, three policies, a thousand runs of each: the first figure is five cells away.
#
# An arm is a Markov chain that moves when it is played; the state it moves to pays. The player sees the states of the
# arm it plays, and nothing of the others.

# %%
import jax
import matplotlib.pyplot as plt

import jaxbandit
from jaxbandit import metrics, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 1000
horizon = 10_000

# %%
arms = jaxbandit.two_state(p01=[0.5, 0.4, 0.3, 0.2, 0.1], p10=[0.4, 0.55, 0.65, 0.65, 0.7])  # states pay 0 and 1
arms.means()

# %%
policies = {"UCB1": jaxbandit.UCB1(), "KL-UCB": jaxbandit.KLUCB(), "TV-KL-UCB": jaxbandit.TVKLUCB()}
result = jaxbandit.simulate({"scenario 1": arms}, policies, key=jax.random.key(0), runs=runs, horizon=horizon)

# %%
ax = plotting.plot_regret(result)

# %% [markdown]
# Pseudo-regret counts every play of an arm at its mean's distance from the best mean. The bands are 95 % intervals of
# the mean over runs.
#
# A result shows what was played, and the final regret with its spread. *Worst 5 %* is the mean of the worst 5 % of
# runs; *linear share* is the share of runs that still give worse arms a tenth or more of the second half of the rounds.

# %%
result

# %% [markdown]
# ## Where a mean comes from
#
# Two policies with similar means can be very different gambles. On the left, the share of runs whose regret is at least
# x: read a quantile off any height. On the right, how often TV-KL-UCB plays each arm.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plotting.plot_distribution(result, ax=left)
ax = plotting.plot_pulls(result, "TV-KL-UCB", ax=right)

# %% [markdown]
# ## Paired runs
#
# Run j of every policy meets the same luck: the n-th play of an arm moves it alike, whoever plays it. Differences are
# therefore taken run by run, and their interval can be narrower than those of the two means.

# %%
difference = metrics.summary(metrics.paired_difference(result, "TV-KL-UCB", "KL-UCB")[0, 0])
print(f"TV-KL-UCB minus KL-UCB: mean {difference.mean:+.1f} ({difference.low:+.1f} to {difference.high:+.1f})")
print(f"                      median {difference.median:+.1f}")

# %% [markdown]
# ## Named axes
#
# A result holds counts: how often each arm was moved to each state, at the recorded rounds. `to_xarray` names their
# axes and puts regret beside them, ready for `sel`, `mean`, `quantile` and `plot`.

# %%
data = result.to_xarray()
data

# %%
data.regret.isel(scenario=0, time=-1).quantile([0.5, 0.9, 0.99], "run").to_pandas().round(1)

# %% [markdown]
# ## What a policy thinks
#
# TV-KL-UCB judges before every round which arms are Markovian. `record` keeps such an answer beside the counts; it is
# taken after round t, so it is the one for round t + 1.

# %%
judged = {"Markovian": lambda arms, state, t, policy: policy.markovian(state, t + 1)}
seen = jaxbandit.simulate(arms, {"TV-KL-UCB": jaxbandit.TVKLUCB()}, runs=runs, horizon=horizon, record=judged)
lines = seen.to_xarray().Markovian.isel(scenario=0, policy=0).mean("run").plot.line(x="time", xscale="log")
labels = lines[0].axes.set(title="scenario 1: arms that TV-KL-UCB takes for Markovian", ylabel="share of runs")

# %% [markdown]
# `result.save("file.npz")` keeps the counts, and `simulate(..., resume=result)` with a larger horizon plays on from
# here.
