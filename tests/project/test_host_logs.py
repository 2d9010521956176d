"""Log lines in a host project."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.processes import until
from tests.project import hosting
from tests.project.hosting import Host

HANDLER = """
import logging
from jobs.handlers import job

logger = logging.getLogger("shop.mail")

@job("mail.send", queue="mail")
def send_mail(address: str) -> None:
    logger.warning("no mail to %s", address)
    raise ValueError("no such address")

def broken(draft, following):
    raise LookupError("middleware")
"""
ENQUEUE = """
import django; django.setup()
from shop.ojs_jobs import send_mail
print(send_mail.enqueue("ada@example.org").id)
"""
REQUEST = """
import django; django.setup()
from django.test import Client
Client().post(
    "/ojs/v1/jobs", {"type": "mail.send", "args": []}, "application/json",
    headers={"X-Request-Id": "of-this-test"},
)
"""
LOGGING = {
    "version": 1, "disable_existing_loggers": False,
    "formatters": {"own": {"format": "OWN %(levelname)s %(name)s %(message)s"}},
    "handlers": {"own": {"class": "logging.StreamHandler", "formatter": "own"}},
    "root": {"handlers": ["own"], "level": "WARNING"},
}  # fmt: skip
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
URLS = """
from django.urls import include, path
urlpatterns = [path("", include("jobs.api.urls"))]
"""


Make = Callable[..., Host]


@pytest.fixture(scope="module")
def host(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Make]:
    """Give a function that writes a project with the core alone and these settings."""
    with django_db_blocker.unblock(), hosting.databases("logs") as made:
        host = Host(tmp_path_factory.mktemp("host"))

        def make(*, middleware: Sequence[str] = (), **more: Any) -> Host:
            host.make(
                URLS,
                DATABASES={"default": made["logs"]},
                INSTALLED_APPS=[*hosting.CORE, "shop"],
                OJS={"AUTH": "off", "ALLOW_INSECURE": True, "ENQUEUE_MIDDLEWARE": middleware},
                **more,
            )
            host.write("shop/ojs_jobs.py", HANDLER)
            return host

        make().run("manage.py", "migrate", "--verbosity", "0")
        yield make


def logged(host: Host, *arguments: str) -> list[str]:
    """Return the lines that a process writes to stderr."""
    done = host.start(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_a_project_without_logging_gets_lines_with_time_level_and_job(host: Make) -> None:
    job_id = host().run("-c", ENQUEUE).strip()

    def run_once() -> list[str]:
        return logged(host(), "manage.py", "runworker", "--once")

    lines = run_once()

    wanted = rf"{TIME} WARNING shop.mail no mail to ada@example.org job_id={job_id}"
    assert [line for line in lines if re.fullmatch(wanted, line)], lines
    assert all(re.match(TIME, line) for line in lines), lines
    failed = [line for line in lines if " attempt.failed " in line]
    assert f"job_id={job_id}" in failed[0]
    assert "in send_mail" in failed[0]

    def is_told() -> bool:
        if any(f"job.retrying job_id={job_id}" in line for line in lines):
            return True
        lines.extend(run_once())  # an older transaction of any database hid the event
        return False

    until(is_told, "the line of the retry")


@pytest.mark.long
def test_the_logging_of_a_project_takes_precedence(host: Make) -> None:
    host(LOGGING=LOGGING).run("-c", ENQUEUE)

    lines = logged(host(LOGGING=LOGGING), "manage.py", "runworker", "--once")

    assert "OWN WARNING shop.mail no mail to ada@example.org" in lines
    assert all(line.startswith("OWN ") for line in lines), lines


def test_a_failed_request_has_a_line_with_its_id(host: Make) -> None:
    lines = logged(host(middleware=["shop.ojs_jobs.broken"]), "-c", REQUEST)

    wanted = rf"{TIME} ERROR ojs.api request.failed request_id=of-this-test"
    assert [line for line in lines if re.fullmatch(wanted, line)], lines
