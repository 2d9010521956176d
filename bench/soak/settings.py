"""The settings of the soak's server and of its workers with a database."""

from bench.settings import *  # noqa: F403 - a settings module is the sum of another
from bench.settings import INSTALLED_APPS as BENCH_APPS

INSTALLED_APPS = [*(one for one in BENCH_APPS if one != "bench"), "bench.soak"]
