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
# # What is it worth to know that arms do not touch one another?
#
# Rested arms are a Markov decision process: its state is the states of all arms together, its actions are the arms, and
# an action moves one arm and leaves all others where they are. A learner for decision processes can play it, but does
# not know the last part. Here is what that costs, and then a process in which actions do touch one another.

# %%
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import (
    IMEDMC,
    IMEDRL,
    KLUCB,
    PSRL,
    UCRL2,
    KnownProcess,
    Uniform,
    decision_processes,
    environments,
    metrics,
)
from jaxbandit.plotting import curve_style

jaxbandit.use_all_cores()  # runs are divided among them

# %% tags=["parameters"]
runs = 200
horizon = 10_000

# %% [markdown]
# ## Arms as one process
#
# `as_decision_process` numbers the joint states. It pays the mean of what a play may show next; so that both kinds of
# player are told the same, a play pays here what the arm shows before it. Staying on the best arm cannot be beaten in
# the long run, so the best gain of the process is the mean of the best arm.


# %%
def as_one(arms):
    process = environments.as_decision_process(arms)
    number = len(arms.reward)
    states = np.stack(np.unravel_index(np.arange(2**number), (2,) * number))
    shown = np.take_along_axis(np.asarray(arms.reward), states, axis=1)
    return environments.decision_process(process.transition, shown, np.asarray(process.initial))


p01, p10 = [0.5, 0.4, 0.3], [0.4, 0.55, 0.65]
arms = {number: jaxbandit.two_state(p01[:number], p10[:number]) for number in (2, 3)}
for number, each in arms.items():
    process = as_one(each)
    rows = np.unique(np.asarray(each.transition).reshape(-1, 2), axis=0)
    best = f"best mean {each.means().max():.6f}, best gain {process.comparator(1):.6f}"
    print(f"{number} arms: {best}; rows to learn {len(rows)} as arms, {process.reward.size} as one process")

# %% [markdown]
# ## What is lost
#
# Both kinds of player are measured alike: the rounds times the best mean, minus the means of the arms that they played.
# All of them know what a state pays, and see the arms in an order that is drawn for each run.


# %%
def lost(result, label):
    plays = result.visits[label][0, 0].sum(-1)  # [run, time, arm]
    return plays @ (result.means[0].max() - result.means[0])


of_arms = {"IMED-MC": IMEDMC(), "KL-UCB": KLUCB()}
of_processes = {"PSRL": PSRL(), "IMED-RL": IMEDRL(rewards="known"), "UCRL2": UCRL2(rewards="known")}
colours = {label: curve_style(number) for number, label in enumerate([*of_arms, *of_processes])}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
print(f"{'':10}{'2 arms':>9}{'3 arms':>9}")
found = {label: [] for label in colours}
for ax, (number, each) in zip(axes, arms.items()):
    for problem, policies in ((each, of_arms), (as_one(each), of_processes)):
        result = jaxbandit.simulate(problem, policies, runs=runs, horizon=horizon, shuffle=True)
        for label in policies:
            s = metrics.summary(lost(result, label).T)
            ax.plot(result.times, s.mean, **colours[label] | {"markevery": 0.1}, label=label)
            ax.fill_between(result.times, s.low, s.high, color=colours[label]["color"], alpha=0.2, linewidth=0)
            found[label].append(s.mean[-1])
    ax.set(title=f"{number} arms", xscale="log", yscale="log", xlabel="round t", xlim=(10, horizon), ylim=(1, None))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("mean regret")
legend = axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
for label, each in found.items():
    print(f"{label:10}" + "".join(f"{mean:9,.0f}" for mean in each))

# %% [markdown]
# With two arms posterior sampling (PSRL) does as well as an index: eight rows are soon learnt, although only four of
# them are different. With three arms there are 24 in the place of six, as the rows of an arm are learnt again for each
# state of the others, and it has fallen behind IMED-MC. With five arms there would be 160 in the place of ten. UCRL2
# believes the best of every row apart from all others, and that is what it pays for.
#
# ## Where actions do touch one another
#
# In RiverSwim one action, right, leads against the stream through places that pay nothing to one that pays 1. A policy
# for arms would be refused: what an arm pays depends on what the others did. The player who knows the process goes
# right everywhere.

# %%
river = environments.riverswim()
best = decision_processes.optimal(river.transition, river.reward)
print(f"gain {best.gain[0]:.4f}, always left {river.means()[0]:.4f}; best actions {best.policy.tolist()}")
policies = {
    "known": KnownProcess.of(river),
    "uniform": Uniform(),
    "UCRL2": UCRL2(),
    "PSRL": PSRL(rewards="learned", tsde=True),
    "IMED-RL": IMEDRL(),
}
swum = jaxbandit.simulate({"RiverSwim": river}, policies, runs=runs, horizon=horizon)
ax = plt.figure(figsize=(8, 4.4), layout="constrained").gca()
for number, label in enumerate(list(policies)[1:]):
    s = metrics.summary((metrics.regret(swum, label) - metrics.regret(swum, "known"))[0, 0].T)
    ax.plot(swum.times, s.mean, **curve_style(number) | {"markevery": 0.1}, label=label)
    ax.fill_between(swum.times, s.low, s.high, color=curve_style(number)["color"], alpha=0.2, linewidth=0)
    print(f"{label:10} {s.mean[-1]:7,.0f} ± {s.high[-1] - s.mean[-1]:.0f}")
ax.set(xscale="log", yscale="log", xlabel="round t", xlim=(10, horizon), ylim=(1, None))
ax.set_ylabel("mean regret beyond the player who knows")
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend(frameon=False)

# %% [markdown]
# Whoever plays by chance hardly ever arrives, and after as many rounds UCRL2 does not do better than that. Posterior
# sampling and IMED-RL find the way within some hundred rounds.
#
# ## What to take away
#
# If arms stand still while they are not played, use a policy that knows it: what is learnt of an arm then counts in
# every state of the others, and the difference grows with the number of arms. If what you do decides where you are,
# there is no such short cut, and posterior sampling is the one to begin with.
#
# `python -m experiments.decision_processes` plays such processes at full size, with more policies, and says in which
# share of its runs each one fails.
