"""What judging a policy is made of: the policy from text, the arms that it plays, what is measured there, the page.

A file each has the named problems, the space and the worst problems; `playing` also checks the contract and times the
policies, and `standings` says which of them the runs tell apart. Then come what all of it says in words, in a picture,
and on the page.

Policies that stop with an answer have a judgement of their own, `judged_answers`.

Others may take `atlas_card`, `failures`, `judge_options.Settings`, `judged_answers`, `judged_spaces`,
`judgement.Judgement`, `playing`, `policy_text.policies_of` and `report`.
"""

__all__: list[str] = []
