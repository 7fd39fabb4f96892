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
# # A sweep over two parameters
#
# TV-KL-UCB takes an arm for Markovian where two rows of its estimated transition matrix are further apart than `scale *
# (t - 1)**-exponent`, in total variation. The paper sets scale 1 and exponent 1/4. How much does that matter?
#
# A sweep plays named cases into a folder. What is there is never played again.

# %%
import tempfile
import time

import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import metrics, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 1000
horizon = 10_000

# %%
arms = jaxbandit.atlas["scenario 1"].arms
scales = [0.25, 0.5, 1.0, 2.0]
exponents = [0.1, 0.15, 0.2, 0.25, 0.3, 0.4]
folder = tempfile.mkdtemp()  # yours is a folder that stays


def cases(runs):
    def case(scale, exponent):
        policy = jaxbandit.TVKLUCB(scale=scale, exponent=exponent)
        return {"scenarios": {"scenario 1": arms}, "policies": {"TV-KL-UCB": policy}, "runs": runs, "horizon": horizon}

    return jaxbandit.grid(case, scale=scales, exponent=exponents)


def timed(cases):
    start = time.perf_counter()
    results = jaxbandit.sweep(cases, folder)
    print(f"{len(results)} cases in {time.perf_counter() - start:.1f} s")
    return results


# %% [markdown]
# ## Resume
#
# Half of the runs first. Interrupt this cell in the middle: the same cell continues, to the same bits. In a folder that
# stays it does so after a restart and on another day, too; what is complete is not played again.

# %%
results = timed(cases(runs // 2))

# %% [markdown]
# All of the runs: only the other half is played.

# %%
results = timed(cases(runs))

# %% [markdown]
# The same call again reads the files and plays nothing.

# %%
results = timed(cases(runs))

# %% [markdown]
# A case that has changed is refused by name, so that a folder never mixes two experiments.

# %%
changed = {name: case | {"horizon": horizon + 1} for name, case in cases(runs).items()}
try:
    jaxbandit.sweep(changed, folder)
except ValueError as error:
    print(error)

# %% [markdown]
# ## The grid
#
# A low threshold calls arms Markovian early, which saves regret in most runs and costs much in a few: the median and
# the mean of the worst 5 % of runs ask for opposite corners, and the mean is a compromise of both. Dark is little
# regret; colours follow the logarithm, and every table has its own.

# %%
data = jaxbandit.to_xarray(results, scale=scales, exponent=exponents)
final = data.regret.isel(time=-1).squeeze()  # [scale, exponent, run]
worst = final.reduce(lambda values, axis: metrics.summary(np.moveaxis(values, axis, -1)).worst, "run")
tables = {"mean": final.mean("run"), "median": final.median("run"), "worst 5 % of runs": worst}
figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained", sharey=True)
for ax, (name, table) in zip(axes, tables.items()):
    plotting.plot_heatmap(table, scales, exponents, logarithmic=True, ax=ax)
    ax.set_title(name)
    ax.set_xlabel("exponent")
axes[0].set_ylabel("scale")
title = figure.suptitle(f"Scenario 1: pseudo-regret of TV-KL-UCB after {horizon:,} rounds, {runs:,} runs a cell")

# %% [markdown]
# A cell's mean is only as good as its interval. The best cell by mean beside the paper's choice:

# %%
best = final.mean("run").stack(cell=["scale", "exponent"]).idxmin().item()
for scale, exponent in (best, (1.0, 0.25)):
    here = metrics.summary(final.sel(scale=scale, exponent=exponent))
    cell = f"scale {scale}, exponent {exponent}"
    print(f"{cell:25s} mean {here.mean:.1f} ({here.low:.1f} to {here.high:.1f}), median {here.median:.1f}")

# %% [markdown]
# The best of many cells is best partly by luck. `jaxbandit tune` chooses on some runs and judges on others.
#
# ## Variants
#
# A list in the place of a policy makes *variants*: one program plays them side by side, without a folder. Two rows of
# the grid, with the median dashed:

# %%
variants = [(scale, exponent) for scale in (0.25, 2.0) for exponent in exponents]
policies = {"TV-KL-UCB": [jaxbandit.TVKLUCB(scale=scale, exponent=exponent) for scale, exponent in variants]}
result = jaxbandit.simulate({"scenario 1": arms}, policies, runs=runs, horizon=horizon, times=[horizon])
ax = plotting.plot_parameter(
    result,
    [exponent for _, exponent in variants],
    parameter="exponent",
    lines=[f"scale {scale}" for scale, _ in variants],
    quantiles=(0.5,),
)
