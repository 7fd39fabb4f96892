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
# # Restless arms
#
# A rested arm waits for the player: its chain moves only when it is played. A restless arm moves in every round, and
# the player sees it only when it plays. Here the same chains stand once as rested arms and once as restless ones: those
# of the paper's scenario 1, moving a tenth as often.

# %%
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import environments, metrics, plotting

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 500
horizon = 30_000

# %%
p01, p10 = np.array([0.5, 0.4, 0.3, 0.2, 0.1]) / 10, np.array([0.4, 0.55, 0.65, 0.65, 0.7]) / 10
rested = jaxbandit.two_state(p01, p10, initial_state="stationary")
restless = environments.restless(rested.transition, rested.reward)
learners = {
    "KL-UCB-SM": jaxbandit.KLUCB(),
    "TV-KL-UCB": jaxbandit.TVKLUCB(),
    "UCB1": jaxbandit.UCB1(),
    "RCA": jaxbandit.RCA(),
    "DSEE": jaxbandit.DSEE(),
}
known = {"best arm alone": jaxbandit.Oracle(restless.means()), "myopic": jaxbandit.Myopic.of(restless)}
waiting = jaxbandit.simulate({"rested": rested}, learners, runs=runs, horizon=horizon)
moving = jaxbandit.simulate({"restless": restless}, learners | known, runs=runs, horizon=horizon)
moving

# %% [markdown]
# RCA and DSEE are made for restless arms: both play an arm in long stretches, RCA from one visit of a state to the
# next, DSEE in epochs that grow, so that what they see of an arm is what it pays if it is played for ever. `Myopic`
# knows the chains and keeps a belief about every arm that it does not see.
#
# ## Regret may be negative
#
# No policy gains on the best of rested arms in the long run. Of restless arms one does who leaves an arm in a bad state
# for one that is in a good state, and comes back. What such a policy loses or gains beside the best arm is *weak
# regret*: a result of restless arms is read by it. UCB1 comes to play so without knowing anything: it keeps the indices
# of all arms close together, so that an arm which pays stays ahead, and falls behind as soon as it does not.

# %%
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
for result, ax in zip((waiting, moving), axes):
    plotting.plot_regret(result, list(learners), ax=ax)

# %% [markdown]
# The rule that knows the chains shows how much is there to be gained, and the number of arms that it needs: it plays
# the best arm in less than half of the rounds.

# %%
for label in moving.labels:
    s = metrics.summary(metrics.regret(moving, label)[0, 0, :, -1])
    share = metrics.best_share(moving, label)[0, 0, :, -1].mean()
    print(f"{label:14s}  {s.mean:+10,.1f}  ({s.low:+,.1f} to {s.high:+,.1f})   best arm played {share:4.0%}")

# %% [markdown]
# ## The same luck for everybody
#
# A restless arm goes its way whoever plays, so that all policies of a run meet the same paths. What a policy loses
# beside the player of the best arm, in the same run, has the same mean as weak regret and is less spread out for those
# who mostly play that arm. Long epochs with a wrong arm give DSEE its tail.

# %%
alone = metrics.regret(moving, "best arm alone")[0, 0]
figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
for number, label in enumerate(learners):
    lost = np.sort((metrics.regret(moving, label)[0, 0] - alone)[:, -1])
    ax.step(lost, 1 - np.arange(len(lost)) / len(lost), **plotting.curve_style(number), markevery=0.12, label=label)
ax.set_xlabel(f"lost beside the best arm in {horizon:,} rounds")
ax.set_ylabel("share of runs that lose at least so much")
ax.grid(alpha=0.25)
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend(frameon=False)

# %% [markdown]
# ## A gain that can be computed
#
# Two arms that leave either state with probability .2 pay .5 each. Who stays with an arm while it shows 1, and leaves
# it when it shows 0, collects .65 a round; for such arms no policy collects more, and the myopic rule is that one.

# %%
twins = environments.restless([[[0.8, 0.2], [0.2, 0.8]]] * 2, (0, 1))
result = jaxbandit.simulate(twins, {"myopic": jaxbandit.Myopic.of(twins)}, runs=runs, horizon=horizon)
gain = metrics.summary(0.5 - metrics.regret(result, "myopic")[0, 0, :, -1] / horizon)
print(f"{gain.mean:.4f} a round ({gain.low:.4f} to {gain.high:.4f})")

# %% [markdown]
# ## All arms pay, and plays are a budget
#
# In operations research every arm pays in every round, and a play changes how an arm moves. Whittle's index is then
# the usual rule, and a good one; but on some arms it keeps a gap to the best there could be, however many arms there
# are. These swing together; LP-update makes a plan for the next rounds in each round, and steers against it.

# %%
swinging = jaxbandit.atlas["swinging"]
plays = swinging.plays
rules = {
    "Whittle": jaxbandit.Whittle.of(swinging.arms),
    "LP-update": jaxbandit.LPUpdate.of(swinging.arms, plays, steps=5),
    "myopic": jaxbandit.Myopic.of(swinging.arms),
}
swung = jaxbandit.simulate(swinging.arms, rules, runs=20, horizon=500, plays=plays)
bound = swinging.arms.relaxation(plays).value
for label in rules:
    lost = metrics.summary(metrics.regret(swung, label)[0, 0, :, -1] / 500 / bound)
    print(f"{label:10s} loses {lost.mean:.1%} of the bound ({lost.low:.1%} to {lost.high:.1%})")

# %% [markdown]
# A policy that learns how arms move should forget old moves if the arms change. A play is worth much on two of these
# arms and little on the other two, and twice they change places:

# %%
eager, idle = [[0.3, 0.7], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]
unvisited = [[0.9, 0.1], [0.7, 0.3]]
now, then = [eager, eager, idle, idle], [idle, idle, eager, eager]
options = {"restless": True, "paid": "all", "observed": True, "horizon": 1500, "passive": [unvisited] * 4}
swapping = environments.changing_markov([501, 1001], [now, then, now], (0, 1), **options)
players = {
    "PosteriorWhittle, all rounds": jaxbandit.PosteriorWhittle.of(swapping),
    "PosteriorWhittle, last 150": jaxbandit.PosteriorWhittle.of(swapping, memory=jaxbandit.Window(150)),
    "Whittle, of the first laws": jaxbandit.Whittle.of(swapping.segment(0)),
}
forgot = jaxbandit.simulate(swapping, players, runs=50, horizon=1500, plays=2)
plotting.plot_regret(forgot).set_xscale("linear")

# %% [markdown]
# `python -m experiments.restless` plays all scenarios of the paper so, and says from when on RCA and DSEE have less
# regret than each other policy; `python -m experiments.hidden` hides the states behind noise; `python -m
# experiments.budget` has many more arms that all pay.
