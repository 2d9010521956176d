"""Request every page and print the results."""

from bench.console import report
from bench.console.look import MOST_SHARE, looks
from bench.console.measure import measure
from bench.console.pages import asks
from bench.console.tasks import finish
from bench.database import Database


def ask(database: Database, times: int) -> int:
    """Return the exit status: 1 if a page exceeded its bound."""
    finish()
    print(report.HEAD, flush=True)
    found = []
    for one in measure(asks(database), times):
        print(report.line(one), flush=True)
        found.append(one)
    looked = looks(times)
    print("", *report.conclusion(found), looked, sep="\n")
    return int(looked.share > MOST_SHARE or not all(one.is_within for one in found))
