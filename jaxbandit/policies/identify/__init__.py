"""Policies that identify the best arm: when to stop, what to sample until then, and both in one policy.

A stopping rule is a value that keeps counts and says how much evidence there is that the leading arm is better than
each other one (`glr_rules`, from the statistics of `evidence`). A sampling rule is a value that reads this evidence
(`sampling_rules`), or any policy. `identification` puts both together.
"""

__all__: list[str] = []
