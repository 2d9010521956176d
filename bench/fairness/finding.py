"""A promised bound and the measured value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One bound and the worst measured value."""

    scenario: str
    title: str
    bound: str
    found: str
    is_met: bool
    note: str = ""

    def __str__(self) -> str:
        """Return the line of the table."""
        word = "ok" if self.is_met else "MISSED"
        return (
            f"{self.scenario:12} {self.title:86} {self.bound:>14} {self.found:>16}"
            f"  {word:6} {self.note}"
        ).rstrip()


HEAD = f"{'scenario':12} {'property':86} {'bound':>14} {'found':>16}"


def at_most(scenario: str, title: str, bound: float, found: float, note: str = "") -> Finding:
    """Compare a number with its upper bound."""
    is_met = found <= bound + 1e-9
    return Finding(scenario, title, f"<= {bound:g}", f"{found:.4g}", is_met, note)


def at_least(scenario: str, title: str, bound: float, found: float, note: str = "") -> Finding:
    """Compare a number with its lower bound."""
    is_met = found >= bound - 1e-9
    return Finding(scenario, title, f">= {bound:g}", f"{found:.4g}", is_met, note)
