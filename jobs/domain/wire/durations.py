"""Durations as whole milliseconds. Spec: contract 5.2, 24.1, D25.

Retry policies and `+` times of jobs take ISO 8601 alone (`parse_duration`). All other requests and
settings also take short forms (`parse_short_duration`). Periods must be longer than 0 and may be
named units (`parse_period`). People read them in words (`in_words`).
"""

import re
from typing import Final

PATTERN: Final = re.compile(
    r"P(?=.)(?:(?P<years>\d{1,9})Y)?(?:(?P<months>\d{1,9})M)?(?:(?P<weeks>\d{1,9})W)?"
    r"(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?"
    r"(?:(?P<seconds>\d{1,12}(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)
UNIT_MS: Final = {
    "years": 365 * 86_400_000,
    "months": 30 * 86_400_000,
    "weeks": 7 * 86_400_000,
    "days": 86_400_000,
    "hours": 3_600_000,
    "minutes": 60_000,
    "seconds": 1000,
}
SHORT: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d|w)", re.ASCII)
SHORT_MS: Final = {
    "w": 7 * 86_400_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1,
}  # fmt: skip
NAMED_MS: Final = {"second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
SECOND_MS: Final = 1000
# in seconds: a unit, and the next smaller one
UNITS: Final = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
SPAN_RULE: Final = "must be a duration such as PT30S or 30s"
TOO_LONG: Final = "must be at most 100 years"
LONGEST_MS: Final = 100 * 365 * 86_400_000


def parse_duration(text: object) -> int:
    """Return milliseconds. Raises ValueError, also above 100 years."""
    match = PATTERN.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("must be an ISO 8601 duration such as PT30S")
    ms = sum(
        round(float(number) * UNIT_MS[unit]) if unit == "seconds" else int(number) * UNIT_MS[unit]
        for unit, number in match.groupdict().items()
        if number
    )
    if ms > LONGEST_MS:
        raise ValueError(TOO_LONG)
    return ms


def parse_short_duration(text: object) -> int:
    """Return milliseconds of an ISO 8601 duration or a short one: 7d, 24h, 30m, 45s, 250ms.

    Raises ValueError.
    """
    short = SHORT.fullmatch(text) if isinstance(text, str) else None
    if short is None:
        try:
            return parse_duration(text)
        except ValueError as problem:
            raise ValueError(TOO_LONG if str(problem) == TOO_LONG else SPAN_RULE) from None
    ms = int(short[1]) * SHORT_MS[short[2]]
    if ms > LONGEST_MS:
        raise ValueError(TOO_LONG)
    return ms


def format_duration(ms: int) -> str:
    """Format milliseconds in the largest whole units, days at most: 90000 is PT1M30S."""
    days, rest = divmod(ms, UNIT_MS["days"])
    hours, rest = divmod(rest, UNIT_MS["hours"])
    minutes, rest = divmod(rest, UNIT_MS["minutes"])
    seconds, fraction = divmod(rest, 1000)
    time = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes)
    if fraction:
        time += f"{seconds}.{fraction:03}".rstrip("0") + "S"
    elif seconds or not (days or time):
        time += f"{seconds}S"
    return "P" + f"{days}D" * bool(days) + ("T" + time) * bool(time)


def parse_period(text: object) -> int:
    """Return the milliseconds of a duration, of a short form (90s, 7d) or of a named unit.

    For operators' input. Raises ValueError, also for 0 and above 100 years. Spec: contract 24.1,
    27.1.
    """
    if isinstance(text, str) and text in NAMED_MS:
        return NAMED_MS[text]
    try:
        ms = parse_short_duration(text)
    except ValueError as problem:
        if str(problem) != TOO_LONG:
            raise
        ms = 0
    if not ms:
        raise ValueError("must be longer than nothing and at most 100 years")
    return ms


def in_words(ms: float) -> str:
    """Return a duration in its two largest units: `850 ms`, `1.5 s`, `4 min`, `2 h 5 min`."""
    if ms < SECOND_MS:
        return f"{ms:.0f} ms"
    seconds = ms / SECOND_MS
    for unit, name, part, part_name in UNITS:
        if seconds >= unit:
            rest = int(seconds % unit // part)
            return f"{seconds // unit:.0f} {name}" + f" {rest} {part_name}" * bool(rest)
    return f"{seconds:.3g} s"
