"""What `simulate` was asked for, checked on the host before anything is compiled.

`user_code` calls what a user wrote and tells one program from another, `tracing` is what methods compute, `recording`
what is kept beside counts, `contracts` what a policy and an environment must be, `declared` what an environment says of
itself, and `request` all of it together.

Sweeps take `request.Request` and `request.check`; the public checks take `contracts.check_contract`,
`contracts.check_declares`, `contracts.check_task`, `tracing.Size`, `tracing.environment_program` and
`tracing.policy_program`.
"""

__all__: list[str] = []
