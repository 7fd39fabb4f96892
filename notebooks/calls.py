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
# # Whom should we call this week?
#
# A health program sends its participants a message every week. Some listen (*engaged*), some listen now and then (*at
# risk*), some have stopped (*lost*). Health workers can call eight of sixty participants a week. Whom should they call?
# Here is the way from a table of what was seen to this week's list, and how sure each place on it is.

# %%
import csv

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import jaxbandit
from jaxbandit import indices
from jaxbandit.environments import restless

jaxbandit.use_all_cores()

# %% tags=["parameters"]
runs = 50
horizon = 104

# %% [markdown]
# ## What was seen
#
# One line for each person and week: the state at the beginning, whether there was a call, the state a week later. In
# these 26 weeks twelve persons a week were called, *drawn by lot*; the last section says why that matters. The file is
# made up (`docs/making/calls.py` made it), yours needs the same columns.

# %%
with open("calls.csv", newline="") as file:
    lines = list(csv.DictReader(file))
states, clinics = ["engaged", "at risk", "lost"], ["harbour", "hill", "north"]
counts = np.zeros((3, 2, 3, 3))  # [clinic, called, state, next state]
for line in lines:
    before, after = states.index(line["state"]), states.index(line["next_state"])
    counts[clinics.index(line["clinic"]), int(line["called"]), before, after] += 1
for number, clinic in enumerate(clinics):
    print(f"{clinic:8}  {'without a call':22}  after a call")
    for state in range(3):
        waited, called = (" ".join(f"{n:7.0f}" for n in counts[number, c, state]) for c in (0, 1))
        print(f"{states[state]:8} {waited}  {called}")

# %% [markdown]
# A row says where those who were in that state stood a week later: engaged, at risk or lost. They are counted by
# clinic, not by person: one person was called five times in half a year, which says next to nothing about what a call
# does to her in each of three states. Twenty persons together say something, if persons of one clinic are alike; take
# any groups of which you believe that.
#
# ## What we know, and what we do not
#
# 14 of 16 says less than 140 of 160. So we do not work with one table of chances but with 200 *plausible worlds*, each
# of which could well have given these counts: each row is drawn from its Dirichlet distribution, with half a move added
# to every count, so that what was not seen is held to be rare, not impossible.

# %%
draw = np.random.default_rng(1)
worlds = draw.standard_gamma(counts + 0.5, (200, *counts.shape))
worlds /= worlds.sum(-1, keepdims=True)  # [world, clinic, called, state, next state]
estimate = (counts + 0.5) / (counts + 0.5).sum(-1, keepdims=True)
low, high = np.quantile(worlds[:, :, :, 1, 0], [0.05, 0.95], axis=0)
for number, clinic in enumerate(clinics):
    chances = [f"{estimate[number, c, 1, 0]:.2f} ({low[number, c]:.2f} to {high[number, c]:.2f})" for c in (0, 1)]
    print(f"{clinic:8} at risk, engaged a week later: {chances[0]} without a call, {chances[1]} after one")

# %% [markdown]
# ## What a call is worth
#
# Count a week engaged as 1, a week at risk as a half. A call to somebody may gain a week now, and more weeks later,
# because who is engaged tends to stay so. Both count, and so does that there will be other weeks in which to call.
# Suppose that somebody offers a reward for every week in which we leave this person alone. A small reward we would
# decline, a large one accept; the reward at which both are equally good is what a call is worth (its *Whittle index*),
# in engaged weeks. The worths of all persons can be compared, and each needs that person's chances only.

# %%
weeks = np.array([1.0, 0.5, 0.0])


def worth(chances):  # [.., called, state, next state] to [.., state]
    flat = chances.reshape(-1, 2, 3, 3)
    found = indices.whittle(flat[:, 1], flat[:, 0], weeks, passive_reward=weeks)
    print(f"the worth is defined in {found.indexable.sum()} of {len(flat)} cases")
    return found.index.reshape(*chances.shape[:-3], 3)


best, plausible = worth(estimate), worth(worlds)
low, high = np.quantile(plausible, [0.05, 0.95], axis=0)
now = ((estimate[:, 1] - estimate[:, 0]) @ weeks).round(2)
for number, clinic in enumerate(clinics):
    for state in range(3):
        text = f"{best[number, state]:5.2f} ({low[number, state]:5.2f} to {high[number, state]:5.2f})"
        print(f"{clinic:8} {states[state]:8} {text}   next week alone {now[number, state]:5.2f}")

# %% [markdown]
# In brackets: nine plausible worlds of ten. At the harbour a call to somebody at risk gains most for next week, but
# does not last. On the hill it gains half as much at once, and in all three times as much: who is engaged there stays.
#
# ## This week's list
#
# We rank all persons by worth, in each plausible world anew, and ask in how many worlds a person is among the first
# eight. Of two with the same worth the one goes first whose last call is longer ago.

# %%
places = 8
last = {int(line["person"]): line for line in lines if line["week"] == "26"}
clinic = np.array([clinics.index(last[person]["clinic"]) for person in sorted(last)])
state = np.array([states.index(last[person]["next_state"]) for person in sorted(last)])
called = np.zeros(len(last))  # the week of the last call
for line in lines:
    if line["called"] == "1":
        called[int(line["person"]) - 1] = int(line["week"])


def listed(worths):  # the persons on the list, from 0
    return np.lexsort((called, -worths[clinic, state]))[:places]


share = np.zeros(len(last))
for world in plausible:
    share[listed(world)] += 1 / len(plausible)
first, names = np.argsort(-share, kind="stable")[:14], {}
for person in first:
    names[person] = f"person {person + 1:2}, {clinics[clinic[person]]:7} {states[state[person]]:7}"
    sure = "sure" if share[person] > 0.95 else "unlikely" if share[person] < 0.05 else "doubtful"
    print(f"{names[person]} {share[person]:5.0%}  {sure:9}{'call' * (person in listed(best))}".rstrip())

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
labels = [f"{clinic}, {state}" for clinic in clinics for state in states]
span = [(best - low).ravel(), (high - best).ravel()]
left.errorbar(best.ravel(), labels, xerr=span, fmt="o", capsize=3, label="in all")
left.plot(now.ravel(), labels, "kx", label="next week alone")
left.set(xlabel="engaged weeks that a call is worth (90 % of worlds)")
left.legend(frameon=False)
right.barh([" ".join(names[person].split()) for person in first], share[first])
right.set(xlabel="share of worlds in which the person is on the list", xlim=(0, 1))
for ax in (left, right):
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# Those at risk on the hill are on the list in nearly every world. For the three other places the data do not settle
# whether the lost of the hill or those at risk at the harbour gain more: there a health worker's knowledge may decide.
#
# ## What would a year bring?
#
# We let 60 persons go on from where they stand, in 40 of the plausible worlds, 50 times in each, and compare: calls by
# this list, made again each week with the states of that week; by what is gained next week alone; each in turn; by lot;
# and no calls. The lists know the estimate, not the world they are played in, as in life. All plans meet the same luck.


# %%
@jaxbandit.pytree
class InTurn:  # the person whose last call is longest ago
    def init(self, reward):
        return jnp.zeros(len(reward))

    def scores(self, key, state, t):
        return -state

    def update(self, state, feedback):
        return state.at[feedback.arms].set(feedback.t)


def persons(chances, effect=1):  # all sixty, from this week's states; without effect a call is no call
    chances = chances[clinic]
    return restless(chances[:, effect], weeks, chances[:, 0], state, observed=True, paid="all")


believed = persons(estimate)
plans = {
    "this list": jaxbandit.Whittle.of(believed),
    "next week alone": jaxbandit.Myopic.of(believed),
    "each in turn": InTurn(),
    "by lot": jaxbandit.Uniform(),
}
asked = {"runs": runs, "horizon": horizon, "times": [52, horizon], "plays": places}
some = {f"world {number}": world for number, world in enumerate(worlds[:40])}
played = jaxbandit.simulate({name: persons(world) for name, world in some.items()}, plans, **asked)
uncalled = {name: persons(world, effect=0) for name, world in some.items()}
idle = jaxbandit.simulate(uncalled, {"no calls": jaxbandit.Uniform()}, **asked)


def engaged(result, plan):  # engaged weeks of all persons in each year: [world, run, year]
    total = (result.recorded["stays"][plan][:, 0] @ weeks).sum(-1)
    return np.diff(total, prepend=0, axis=-1)


none = engaged(idle, "no calls")
possible = 52 * played.comparator - none.mean(1)[:, 1]  # gained at most in a year of the long run, by world
print(f"{'':16} engaged weeks of {60 * 52:,}   gained by 100 calls   of what is possible")
for plan in ["no calls", *plans]:
    years = engaged(idle if plan == "no calls" else played, plan)
    low, high = np.quantile(years[..., 0], [0.05, 0.95])
    text = f"{plan:16} {years[..., 0].mean():6,.0f} ({low:,.0f} to {high:,.0f})"
    if plan != "no calls":
        gained = (years - none).mean(1)  # by world, luck averaged
        per_call = 100 * gained[:, 0] / (52 * places)
        low, high = np.quantile(per_call, [0.05, 0.95])
        text += f"      {per_call.mean():4.0f} ({low:.0f} to {high:.0f})   {gained[:, 1].sum() / possible.sum():15.0%}"
    print(text)
calls = played.visits["this list"][:, 0, :, -1].sum(-1).mean((0, 1))
shares = [f"{name} {calls[clinic == number].sum() / calls.sum():.0%}" for number, name in enumerate(clinics)]
print("calls by this list:", ", ".join(shares))

# %% [markdown]
# In brackets stand nine years of ten, and for the gain nine worlds of ten. The last column compares the second year,
# when today's states hardly matter any more, with a limit that no plan exceeds in the long run, not even one that knows
# the world: what eight calls a week *on average* could gain, many in one week and none in another. A better way of
# choosing could add what is missing to 100 %, and no more; beyond that only better calls or more of them help.
#
# ## What all this rests on
#
# - **Calls by lot.** Had the workers called those about whom they worried, then the called and the others would differ
#   by more than the call, and the counts would take one for the other. If calls were chosen by something that you know,
#   count its values apart; if by something that you do not, draw some calls by lot from now on.
# - **Persons of a clinic are alike**, and next week depends on this week's state, not on how she came there. Count by
#   halves of the year, or by how long the state has lasted, and see whether the rows agree. If persons differ, the
#   brackets are too narrow.
# - **The worth is defined**, that is, a larger reward never makes it better to call where it was better not to. It was
#   so in all worlds here. Where it is not, `LPPriority` ranks by what a call adds to the limit above.
# - **Most is not the same as fair.** The list sends few calls to the north, since there they change little. If every
#   clinic is to have its share, make a list for each.
# - **A list that is followed teaches nothing about those whom it leaves out.** Keep a place or two a week for the lot.
