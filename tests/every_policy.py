"""Every policy of the library, with an environment that it plays."""

import jaxbandit
from jaxbandit import ALL, environments

ARMS = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
TWO = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
UNSEEN = environments.restless(ARMS.transition, (0, 1))
SEEN = environments.restless(ARMS.transition, (0, 1), ARMS.transition[::-1], observed=True)
ALIKE = environments.restless(ARMS.transition[[0, 0, 0]], (0, 1), ARMS.transition[[1, 1, 1]], observed=True)
HIDDEN = environments.hidden(ARMS.transition, [[0.2, 0.7]] * 3)
COSTLY = environments.costly(ARMS, [3, 2, 1], purse=20, horizon=20, chance=[0.5, 1.0, 0.7])
FULL = environments.full_information(ARMS)
RIVER, EPISODES = environments.riverswim(3), environments.riverswim(3, steps=4)
POLICIES = {name: (policy(), ARMS) for name, policy in ALL.items()} | {
    "Discounted": (jaxbandit.KLUCB(memory=jaxbandit.Discounted(0.9)), ARMS),
    "Window": (jaxbandit.UCB1(memory=jaxbandit.Window(5)), ARMS),
    "DiscountedThompson": (jaxbandit.DiscountedThompson(0.9), ARMS),
    "DiscountedUCB": (jaxbandit.DiscountedUCB(0.9), ARMS),
    "SlidingWindowUCB": (jaxbandit.SlidingWindowUCB(5), ARMS),
    "ExploreThenCommit": (jaxbandit.ExploreThenCommit(5), ARMS),
    "Exp3": (jaxbandit.Exp3(0.1), ARMS),
    "Exp3IX": (jaxbandit.Exp3IX(), ARMS),
    "Exp3P": (jaxbandit.Exp3P(horizon=1000, delta=0.1), ARMS),
    "Exp3S": (jaxbandit.Exp3S(0.1, 0.1), ARMS),
    "Exp4": (jaxbandit.Exp4([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], 0.1), ARMS),
    "Rexp3": (jaxbandit.Rexp3(0.1, 5), ARMS),
    "TsallisINF": (jaxbandit.TsallisINF(), ARMS),
    "RescorlaWagner": (jaxbandit.RescorlaWagner(0.4, 5.0, 0.2, 0.1, 0.05, 1.0), ARMS),
    "Soft": (jaxbandit.Soft(jaxbandit.KLUCB(), 0.2), ARMS),
    "Hedge": (jaxbandit.Hedge(0.1), FULL),
    "RegretMatching": (jaxbandit.RegretMatching("internal"), FULL),
    "Learned": (jaxbandit.Learned.of(jaxbandit.Recurrent(4), horizon=20), ARMS),
    "Oracle": (jaxbandit.Oracle(ARMS.means()), ARMS),
    "Gittins": (jaxbandit.Gittins.of(ARMS, 0.9), ARMS),
    "BayesGittins": (jaxbandit.BayesGittins.of([[[1, 2], [2, 1]]], 0.9, depth=10, ahead=20), ARMS),
    "BayesOptimal": (jaxbandit.BayesOptimal.of([[[1, 2], [2, 1]]] * 2, 30), TWO),
    "Whittle": (jaxbandit.Whittle.of(SEEN), SEEN),
    "LPPriority": (jaxbandit.LPPriority.of(SEEN, 1), SEEN),
    "FollowVirtualAdvice": (jaxbandit.FollowVirtualAdvice.of(SEEN, 1), SEEN),
    "LPUpdate": (jaxbandit.LPUpdate.of(SEEN, 1, 3), SEEN),
    "TwoSet": (jaxbandit.TwoSet.of(ALIKE, 1), ALIKE),
    "PosteriorWhittle": (jaxbandit.PosteriorWhittle.of(SEEN), SEEN),
    "UCWhittle": (jaxbandit.UCWhittle.of(SEEN), SEEN),
    "Myopic": (jaxbandit.Myopic.of(UNSEEN), UNSEEN),
    "WhittleBelief": (jaxbandit.WhittleBelief(ARMS.transition[[1, 1, 1], ::-1, ::-1], ARMS.initial, 0.9), UNSEEN),
    "WhittleLastSeen": (jaxbandit.WhittleLastSeen.of(UNSEEN, 5), UNSEEN),
    "HiddenMyopic": (jaxbandit.HiddenMyopic.of(HIDDEN), HIDDEN),
    "HiddenThompson": (jaxbandit.HiddenThompson(3), HIDDEN),
    "KnownProcess": (jaxbandit.KnownProcess.of(RIVER), RIVER),
    **{name: (getattr(jaxbandit, name).of(COSTLY), COSTLY) for name in "RatioKLUCB MixtureKLUCB PrimalDualBwK".split()},
    **{name: (getattr(jaxbandit, name)(), RIVER) for name in "UCRL2 KLUCRL UCRL2B TUCRL PSRL IMEDRL".split()},
    "UCBVI": (jaxbandit.UCBVI(steps=4, horizon=100), EPISODES),
}
