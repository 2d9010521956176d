"""A transition of a job, as extensions receive it. Spec: contract 2.2."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transition:
    """One job that left `before` for `after` (codes in domain/states.py) in this transaction."""

    job_id: str
    queue: str
    type: str
    tenant: str
    before: int
    after: int
    attempt: int
    may_have_checkpoint: bool = True
