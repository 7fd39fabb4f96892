"""What is wrong or missing in the paper's text, and what is done here: where, what, instead."""

SLIPS = [
    (
        "theorem 1, section III.B",
        "The upper bounds do not hold. The proof bounds the rounds in which the best arm's estimates are wrong by"
        " a sum over that arm's own steps, but while it is not played wrong estimates stay wrong. With the paper's"
        " level regret grows as n^(1 − o(1)), for independent and for Markov arms (docs/uniformly_good.md has the"
        " proof), so that TV-KL-UCB is neither of the order log n nor optimal for i.i.d. arms.",
        "bounds.upper_asymptotic gives what the paper states, bounds.regret_exponent the power of n.",
    ),
    (
        "theorems 1 and 3",
        "The upper bound for Markovian arms lies below the lower bound for every uniformly good policy "
        "(scenario 1: 9.05 against 9.90, or 13.69 when the lower bound is made tight). Both cannot hold for a"
        " policy that is uniformly good; TV-KL-UCB is not.",
        "Both are computed and shown.",
    ),
    (
        "appendix D",
        "KL-UCB-MC is given theorem 1 (a)'s constant for all arms. For independent arms with scenario 1's means that is"
        " 7.04, below Lai and Robbins's 8.32. It is no bound, for the reason above.",
        'bounds.upper_asymptotic(arms, "KL-UCB-MC") computes it.',
    ),
    (
        "theorem 3",
        "The proof puts the best arm's chain where the infimum over all chains that are good enough stands, "
        "which gives a valid but loose bound; it also says inf where it needs sup.",
        "The paper's bound and the tight one are both given.",
    ),
    (
        "theorem 2",
        "The condition min sigma ≥ 1/1440 comes from Pinsker's inequality. With d(p, q) ≥ (p − q)² / (2 "
        "max(p, q)) each arm's constant is at most 4 / (gap sigma), and the theorem holds without it. The "
        "sign of a gap is turned round in the proof, and a factor 2 is left out in one line and is back in "
        "the next.",
        "The condition is reported; nothing depends on it.",
    ),
    (
        "theorem 1 (a)",
        "The finite-time bound is vacuous at any horizon that can be played: its own choice eps = (log "
        "n)^(−1/4) is admissible in scenario 1 only beyond n = exp(2.5 million), and the best that a search "
        "finds give 4e13.",
        "bounds.upper_finite gives it for any eps, and for those found by a search.",
    ),
    ("theorem 1 (d), appendix B", "tau has mu_1 − eps_1 where it needs mu_1 − eps_mu.", "mu_1 − eps_mu."),
    (
        "proposition 3",
        "The proof counts each number of visits to a state once, though it lasts for about 1/pi rounds: "
        "1/eps² is exceeded many times over where a state is rare (experiments.concentration at commit af0caf41)."
        " Only the sum over mixing times hides it.",
        "Shown as measured.",
    ),
    (
        "proposition 5",
        "The sum for the estimate has X_s where X_i is meant, and how t depends on s is not said. The proof bounds the"
        " probability for one s by a sum over the same letter, then sums over t where the proposition sums over s; and"
        " it compares a sum of 1/f with an integral from 0, where f does not grow.",
        "Computed exactly for t = s, for t = n, and summed over rounds as theorem 1 needs it: all hold, by far"
        " (experiments.concentration at commit af0caf41).",
    ),
    (
        "proposition 6",
        "(a) and (b) have an infimum over eps_1 on the right while the left depends on eps_1: as printed they do not"
        " hold. (c) needs Z_2 ≥ 0, which is not asked for. Equalities of the proof are inequalities, because plays are"
        " whole numbers.",
        "With the same eps_1 on both sides, which is all that the theorem uses, and Z_2 ≥ 0 they hold.",
    ),
    (
        "the KL test (remark, appendix D)",
        "The inequality that is named for it compares an empirical law with the true one, not two empirical ones. And"
        " that Chernoff's bound cannot be applied to KL is too strong: away from 0 and 1 the KL test asks for a"
        " difference of the order t^(−1/8).",
        'TVKLUCB(test="likelihood_ratio") compares rows with the pooled row; its false alarms are summable.',
    ),
    (
        "proposition 2",
        "In the proof the probability of a type is said to equal what bounds it, and its shares are taken as stationary"
        " for its rows, which they are up to one step.",
        "None needed.",
    ),
    (
        "proposition 4, and the test",
        "Case I of the proof needs the number of visits s_0 ≤ t the other way round. The proposition is "
        "stated for a clock that counts the arm's own steps; the algorithm's counts rounds, so that an i.i.d."
        " arm that is rarely played is called Markovian most of the time.",
        'The paper\'s clock is the default; TVKLUCB(clock="arm") is the other.',
    ),
    (
        "equations for states 0 and 1",
        "The radius is log f(t) / T_i, all plays of the arm; the concentration lemma is for the plays in one "
        "state. The smaller radius makes most of the runs that lock on a wrong arm. For a reward in state 0 "
        "that is larger than in state 1 (appendix D) the two bounds have to swap.",
        "The paper's is the default; TVKLUCB(samples=\"state\") is the lemma's. The bounds swap.",
    ),
    (
        "section IV, initial estimates",
        "Estimates that begin at 1 make an arm that has not yet left its first state look i.i.d., because |0 + 1 − 1| ="
        " 0: in scenario 2 the suboptimal arms are in the phase for i.i.d. arms in 99 % of the rounds"
        " (experiments.paper, phases).",
        "The paper's is the default; TVKLUCB(unvisited=..) changes it.",
    ),
    (
        "algorithm 2",
        "The loop over pairs of states stops one state short; the best arm of scenario 3 would be called "
        "i.i.d. until round 160,000.",
        "All pairs are compared.",
    ),
    (
        "section III.C",
        "The sample-mean index for more than two states is the Bernoulli one, which is not the best for "
        "i.i.d. arms: that is Burnetas and Katehakis's.",
        "As in the paper; bounds.lai_robbins is theirs.",
    ),
    (
        "section III, remark on distances",
        "The Hellinger distance is not below the total variation, its square is.",
        "The square is offered as a test, and Jensen-Shannon's divergence, not its root.",
    ),
    ("appendix B", "The count of a state includes the last visit, which has no departure.", "Departures are counted."),
    (
        "section II",
        "Reward and pseudo-regret are mixed; the paper pays the state before a move, its authors' code the "
        "state after.",
        "Pseudo-regret from counts; the state after the move pays. The means are the same.",
    ),
    (
        "authors' code",
        "Estimates are clipped to [1e−6, 1 − 1e−6] and a search to 1e−4, the size of scenario 2's "
        "probabilities; t stands where the text has t − 1.",
        "The text is followed.",
    ),
    ("section IV", "The parameters of figure 1e are not given.", "A family is chosen and stated in the figure."),
    (
        "references",
        "The work cited beside UCRL2 for a weaker dependence on diameter and state space is TUCRL; its "
        "authors' SCAL is probably meant.",
        "None needed.",
    ),
]
