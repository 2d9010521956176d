"""python -m bench.scale: how each cost grows, as tables and pictures. See docs/scaling.md.

The points of a series take turns on one PostgreSQL, slice by slice, with default settings.
"""

import argparse
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.database import Database
from bench.folder import work_folder
from bench.scale import pooler
from bench.scale.measure import measure
from bench.scale.picture import picture
from bench.scale.rig import CLUSTER, ROLE, Rig
from bench.scale.series import ALL, NAMES, Series
from bench.scale.table import table
from ojs_project.postgres import Cluster

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "scale"


def main() -> int:
    """Measure the chosen series, print their tables and write their pictures."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    with (
        work_folder("ojs-scale-", options.folder) as folder,
        Cluster(folder / "cluster", CLUSTER) as cluster,
    ):
        Database("postgres", cluster.sockets).run(f"CREATE ROLE {ROLE} LOGIN")
        for series in ALL:
            if series.name in options.only:
                _measure(series, cluster, folder, options)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), help="the series to measure")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one slice")
    parser.add_argument("--rounds", type=int, default=11, help="slices per path and point")
    parser.add_argument("--share", type=float, default=1.0, help="of the ended and waiting jobs")
    parser.add_argument("--folder", type=Path, default=None, help="where PostgreSQL's data is made")
    parser.add_argument("--pictures", type=Path, default=PICTURES, help="where pictures are stored")
    options = parser.parse_args()
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(NAMES):
        parser.error(f"unknown series: {', '.join(sorted(unknown))}")
    if "pooler" in options.only and pooler.program() is None:
        print("pgbouncer is not installed: its series is left out", file=sys.stderr)
        options.only.remove("pooler")
    return options


def _measure(series: Series, cluster: Cluster, folder: Path, options: argparse.Namespace) -> None:
    with ExitStack() as ends:
        points = series.points(Rig(cluster, folder, ends), options.share)
        seconds = options.seconds * series.seconds
        curves = measure(points, series.loads, options.rounds, seconds)
    print(*table(series.title, series.axis, curves), sep="\n", flush=True)
    options.pictures.mkdir(parents=True, exist_ok=True)
    (options.pictures / f"{series.name}.svg").write_text(picture(series.title, series.axis, curves))


if __name__ == "__main__":
    sys.exit(main())
