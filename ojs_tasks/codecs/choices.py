"""The term `encrypt` of each job type: which arguments the codecs encode."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """What to encode; without names and positions, all arguments or, if `is_plain`, none."""

    names: frozenset[str] = frozenset()  # of parameters
    positions: frozenset[int] = frozenset()  # of the same parameters in a call
    is_plain: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the list of arguments is encoded as one value."""
        return not self.is_plain and not self.names

    def with_other(self, other: "Choice") -> "Choice":
        """Return the choice that encodes what either encodes."""
        if self.is_whole or other.is_whole:
            return Choice()
        if self.is_plain or other.is_plain:
            return other if self.is_plain else self
        return Choice(self.names | other.names, self.positions | other.positions)


_choices: dict[str, Choice] = {}  # by job type


def choice_of(encrypt: bool | Sequence[str], parameters: Sequence[str]) -> Choice:  # noqa: FBT001
    """Return the choice of a handler with these parameters, in order."""
    if isinstance(encrypt, bool):
        return Choice(is_plain=not encrypt)
    positions = {place for place, name in enumerate(parameters) if name in encrypt}
    return Choice(frozenset(encrypt), frozenset(positions))


def choose(job_type: str, choice: Choice) -> None:
    """Note the choice of a handler. Handlers of one type encode what any of them encodes."""
    before = _choices.get(job_type)
    _choices[job_type] = choice if before is None else before.with_other(choice)


def chosen(job_type: str) -> Choice:
    """Return the choice for a type; all arguments if this process has no handler of it."""
    return _choices.get(job_type.partition("@")[0], Choice())
