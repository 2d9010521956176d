"""What an action shows besides a message."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret for the answer to the action itself.

    A message would travel in a cookie or be stored in the session until the next page.
    """

    told: str
    secret: str = field(repr=False)
