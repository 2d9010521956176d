"""Results of an action that no message may carry."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret for the answer to the action itself.

    A message would travel in a cookie, or stay in the session until the next page.
    """

    message: str
    secret: str = field(repr=False)
