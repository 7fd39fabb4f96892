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
# # Why 100 runs are not enough
#
# The paper averages 100 runs. In its scenario 1 that says little about the two policies that look at transitions: most
# runs pay less than KL-UCB-SM does, and a few settle on a wrong arm and pay in every round. Those few decide the mean.

# %%
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import metrics, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 10_000
horizon = 20_000

# %%
arms = jaxbandit.atlas["scenario 1"].arms
policies = {"KL-UCB-SM": jaxbandit.KLUCB(), "KL-UCB-MC": jaxbandit.KLUCBMC(), "TV-KL-UCB": jaxbandit.TVKLUCB()}
result = jaxbandit.simulate({"scenario 1": arms}, policies, runs=runs, horizon=horizon)
result

# %% [markdown]
# ## The tail
#
# The share of runs whose regret is at least x. The cliff at the far right is made of runs that played the second-best
# arm in nearly every round. The policy with the lowest median has the heaviest tail.

# %%
ax = plotting.plot_distribution(result)

# %% [markdown]
# ## What 100 runs would have said
#
# The same runs, cut into batches of 100: each batch is an experiment that someone might have published. Its mean, with
# the 95 % interval that Student's formula gives, sorted; red where the interval misses the mean of all runs.

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, label in zip(axes, result.labels):
    plotting.plot_batches(result, label, batch=100, ax=ax)

# %% [markdown]
# An honest 95 % interval would miss once in twenty. With heavy tails it misses more often and on one side: a batch
# without a bad run has a low mean *and* a narrow interval, so it is wrong and sure of it.

# %%
for label in result.labels:
    final = metrics.pseudo_regret(result, label)[0, 0, :, -1]
    batches = metrics.summary(final.reshape(-1, 100))
    low, high = (batches.high < final.mean()).mean(), (batches.low > final.mean()).mean()
    least, most = batches.mean.min(), batches.mean.max()
    print(f"{label:9s}  means {least:5.1f} to {most:5.1f};  interval too low in {low:3.0%}, too high in {high:3.0%}")

# %% [markdown]
# Is a policy better than KL-UCB-SM? All runs say, on paired differences, and then every batch. The batches that are
# sure are those that met few bad runs, and so they overstate the difference.

# %%
for label in ("KL-UCB-MC", "TV-KL-UCB"):
    paired = metrics.paired_difference(result, label, "KL-UCB-SM")[0, 0]
    whole, batches = metrics.summary(paired), metrics.summary(paired.reshape(-1, 100))
    better, worse = batches.high < 0, batches.low > 0
    print(f"{label}: {whole.mean:+.1f} ({whole.low:+.1f} to {whole.high:+.1f}) in all runs")
    print(f"  {better.mean():.0%} of the batches say better, {worse.mean():.0%} worse, the others are undecided")
    print(f"  those that are sure say {batches.mean[better | worse].mean():+.1f} on average")

# %% [markdown]
# ## What to report instead
#
# More runs, and more than a mean: the median with an interval that assumes nothing about tails, high quantiles, the
# mean of the worst 5 % of runs, and the linear share, the runs that still pay linearly at the end.

# %%
for label in result.labels:
    final = metrics.pseudo_regret(result, label)[0, 0, :, -1]
    summary, (low, high) = metrics.summary(final), metrics.median_interval(final)
    share = np.sort(final)[-len(final) // 20 :].sum() / final.sum()
    print(f"{label:9s}  median {summary.median:.1f} ({low:.1f} to {high:.1f}), 99 % quantile {summary.quantile_99:.1f}")
    print(f"           worst 5 % of runs {summary.worst:.1f}, which is {share:.0%} of the regret of all runs together")
    print(f"           linear share {metrics.linear_share(result, label)[0, 0]:.2%}")

# %% [markdown]
# More rounds do not help: runs that stay linear come to be all of the mean, which leaves the median behind (dashed,
# below the mean; the 99 % quantile above it).

# %%
ax = plotting.plot_regret(result, quantiles=(0.5, 0.99), logarithmic=True)
