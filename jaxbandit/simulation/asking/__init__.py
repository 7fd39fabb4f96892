"""The arguments of `simulate`, checked on the host before anything is compiled.

`user_code` calls a user's functions and identifies their programs, `tracing` traces all methods, `recording` checks
recorders, `contracts` checks policies and environments, `declared` reads what an environment declares, and `request`
puts all together.

Sweeps take `request.Request` and `request.check`; the public checks take `contracts.check_contract`,
`contracts.check_declares`, `contracts.check_task`, `tracing.Size`, `tracing.environment_program` and
`tracing.policy_program`; the player takes `contracts.check_leaves`, `contracts.check_task`,
`request.recorded_times` and `tracing.EnvironmentShapes`, too; the judge takes `user_code.in_words`.
"""

__all__: list[str] = []
