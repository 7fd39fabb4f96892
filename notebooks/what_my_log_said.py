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
# # What did my log say?
#
# A clinic reminds people of their appointments by one of four messages, and a policy that learns decides which. After
# some weeks the questions come. What if everybody had got the short one? What if the choice had been left to chance?
# This notebook answers them from the log alone, holds the answers against the truth, which we know because we made it
# up, and shows where a log has no answer.

# %%
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import live, plotting

warnings.simplefilter("ignore", UserWarning)  # the tables below have the same warnings

# %% tags=["parameters"]
runs = 50
horizon = 1_000

# %% [markdown]
# ## A log
#
# People confirm their appointment with these probabilities, which nobody in this story knows. Thompson sampling chooses
# the message for a thousand of them. (`gymnasium_env` stands for the people; in a real clinic, `player.choose()` and
# `player.learn(..)` would do the same.)

# %%
messages = ["plain", "friendly", "short", "stern"]
confirm = np.array([0.30, 0.50, 0.40, 0.15])
people = live.gymnasium_env(jaxbandit.bernoulli(confirm), horizon=horizon)
answers = {"silence": 0.0, "confirmed": 1.0}
player = live.play(jaxbandit.Thompson(), people, horizon, states=answers)
log = live.read_log(player)
for number, message in enumerate(messages):
    sent = log.arm == number
    print(f"{message:9} sent {sent.sum():4d} times, confirmed {log.reward[sent].mean():.3f}")
print("probability of the first five choices:", *log.probability[:5].round(2))

# %% [markdown]
# What makes a log worth something is the last line: with which probability was this message chosen? Thompson sampling
# draws from what it believes and does not know these probabilities; `read_log` computes them, exactly, from the log.
#
# ## What would others have earned?
#
# A message that the policy of the log chose with probability .1, and that another policy always sends, stands for ten.
# So weighed, the answers in this log tell how many people would have confirmed under other policies.

# %%
plans = {f"always {message}": str(arm) for arm, message in enumerate(messages)}  # arms of `people` have numbers
plans["at random"] = [1 / 4] * 4
plans["friendly or short"] = [0, 1 / 2, 1 / 2, 0]
found = live.evaluate(log, plans)
print(found)

# %%
truth = [*confirm, confirm.mean(), confirm[1:3].mean()]
ax = plotting.plot_evaluation(found, ax=plt.figure(figsize=(8, 4)).add_subplot())
ax.plot(truth, -np.arange(len(truth)), "x", color="black", label="the truth")
_ = ax.legend(frameon=False, fontsize="small", loc="lower right")
# %% [markdown]
# The policy of the log sent the stern message a few times before it gave it up, and so the log says next to nothing
# about it. That is no weakness of the method: the answer is not in the log. The table says so in three ways: a warning,
# an effective size of a few rounds, and an interval that goes from 0 to .93.
#
# The intervals are empirical Bernstein ones, which hold whatever the weights and whichever policy made the log.
# Those of the bootstrap are narrower, and right if the policy of the log does not learn; in this log they would miss
# the truth too often, and `evaluate` says so.
#
# ## Leave something to chance
#
# Had one message in five been chosen at random, the log would know more about all of them, at little cost.

# %%
mixed = live.play(jaxbandit.EpsilonGreedy(0.2), people, horizon, states=answers, seed=1)
again = live.evaluate(mixed, plans)
print(f"{'':22}{'by Thompson sampling':>30}{'one in five at random':>30}")
for n, (label, known) in enumerate(zip(plans, truth)):
    both = (f"{each.mean[n, 2]:.3f} [{each.low[n, 2]:.2f}, {each.high[n, 2]:.2f}]" for each in (found, again))
    print(f"{label:22}" + "".join(f"{text:>30}" for text in both) + f"   truth {known:.3f}")
print(f"confirmed: {log.reward.sum():.0f} and {live.read_log(mixed).reward.sum():.0f}")

# %% [markdown]
# ## What would a learner have earned?
#
# A policy that learns would have got other answers than those in the log. If the log's choices were uniform, it can be
# *replayed*: it plays against the log, uses the rounds in which it chooses what the log chose, and learns from these
# alone. We compare with what the same policies earn in as many rounds of simulation.

# %%
uniform = live.read_log(live.play(jaxbandit.Uniform(), people, 3 * horizon, states=answers, seed=2))
learners = {"UCB1": jaxbandit.UCB1(), "Thompson": jaxbandit.Thompson(), "KL-UCB": jaxbandit.KLUCB()}
replayed = live.replay(uniform, learners, rounds=500, seeds=runs)
print(replayed)
played = jaxbandit.simulate(jaxbandit.bernoulli(confirm), learners, runs=2000, horizon=500, progress=False)
for label in learners:
    print(f"{label:9} in simulation {(played.visits[label][0, 0, :, -1].sum(-1) @ confirm).mean() / 500:.4f}")

# %% [markdown]
# ## A public log
#
# The Open Bandit sample lies in the package `obp` (version 0.4.1, folder `obp/dataset/obd`): 10,000 views each, chosen
# at random and by Thompson sampling, of 80 items in a shop for clothes, and of the 34 and 46 for men and for women.
# Name the folder, and the cell asks each log of Thompson sampling what random choices would have earned.

# %%
folder = None  # such as "obp/dataset/obd"
columns = {"arm": "item_id", "reward": "click", "probability": "propensity_score"}
for campaign, items in {"all": 80, "men": 34, "women": 46}.items() if folder else ():
    for policy in ("random", "bts"):
        table = live.read_log(Path(folder) / policy / campaign / f"{campaign}.csv", columns=columns, arms=range(items))
        print(f"{campaign}, {policy}:", live.evaluate(table, {"at random": np.full(items, 1 / items)}), sep="\n")

# %% [markdown]
# The log of random choices says .0038 for all items, and the log of Thompson sampling, asked what random choices would
# earn, .0024 with a standard error of .0009. For women its answer rests on two rounds, one of which weighs as
# 21,739: the table warns, and the interval goes from .002 to .10. All three intervals hold what random choices earned.
