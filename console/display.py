"""The display that users choose for their browser: density, and the time zone of times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobs.domain.errors import InvalidRequest

YEAR_S: Final = 365 * 86_400
COOKIES: Final = {"density": "ojs_density", "zone": "ojs_zone"}
# by field: its label, and its values with their words; the first is the usual value
CHOICES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "density": ("Density", {"": "comfortable", "compact": "compact"}),
    "zone": ("Times", {"": "in my time zone", "UTC": "in UTC"}),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form at the foot of each page."""

    name: str
    label: str
    choices: list[tuple[str, str]]
    chosen: str


@dataclass(frozen=True, slots=True)
class Display:
    """The chosen display; empty values are the usual ones."""

    density: str = ""
    zone: str = ""  # IANA name; empty: the zone of the browser

    @property
    def fields(self) -> list[Field]:
        """Return the fields of the form."""
        return [
            Field(name, label, list(words.items()), getattr(self, name))
            for name, (label, words) in CHOICES.items()
        ]


def read_display(cookies: Mapping[str, str]) -> Display:
    """Return the display of a browser; unknown values are the usual ones."""
    given = {name: cookies.get(cookie, "") for name, cookie in COOKIES.items()}
    return Display(**{name: value for name, value in given.items() if value in CHOICES[name][1]})


def parse_display(form: Mapping[str, str]) -> Display:
    """Read the form. Raises InvalidRequest."""
    for name, (_, words) in CHOICES.items():
        if (value := form.get(name, "")) not in words:
            raise InvalidRequest.field(name, "must be one of the offered values", value[:20])
    return Display(**{name: form.get(name, "") for name in CHOICES})
