"""The installed wheel in a Django project of its own, with the core dependencies only."""

import re

import pytest

from tests.conftest import ROOT
from tests.package.host import Host

DOCUMENTED = re.compile(r"^```python[^\n]*\n(INSTALLED_APPS = \[\n[^`]*?JobsConfig[^`]*)```$", re.M)
FEW = 'INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth"]'
EXTENSIONS = """
INSTALLED_APPS += [
    "tenancy.apps.TenancyConfig", "scheduling.apps.SchedulingConfig",
    "versioning.apps.VersioningConfig", "workflows.apps.WorkflowsConfig",
    "webhooks.apps.WebhooksConfig", "encryption.apps.EncryptionConfig",
    "attention.apps.AttentionConfig",
]
OJS["EXTENSIONS"] = (
    "scheduling.extension.Cron", "scheduling.extension.FairScheduling",
    "versioning.extension.Versioning", "tenancy.extension.Tenancy",
    "workflows.extension.WorkflowsExtension", "webhooks.extension.WebhooksExtension",
    "encryption.extension.Encryption",
    "attention.extension.AttentionExtension",
)
"""
URLS = """
from django.urls import include, path
urlpatterns = [path("", include("jobs.api.urls"))]
"""
HANDLER = """
from ojs_tasks import job

@job("mail.send", queue="mail")
def send_mail(address: str, *, subject: str = "") -> dict[str, str]:
    return {"to": address, "about": subject}
"""
USE = """
import django; django.setup()
from django.test import Client
from shop.ojs_jobs import send_mail
job = send_mail.enqueue("ada@example.org", subject="News")
answer = Client().get("/ojs/manifest")
assert answer.json()["limits"]["max_batch_size"] == 500, answer.content
print(job.id)
"""
LOOK = """
import sys, django; django.setup()
from jobs.services.read.show import show
job = show(sys.argv[1])
print(job.state, job.result)
"""


def documented_settings() -> str:
    """Return the settings of the manual for a project with few of Django's apps."""
    (block,) = DOCUMENTED.findall((ROOT / "docs" / "host.md").read_text())
    return f"\n{FEW}\n{block}"


@pytest.fixture
def shop(core_host: Host) -> Host:
    """Return a project with the documented settings and one handler."""
    core_host.add_settings(documented_settings())
    core_host.write("config/urls.py", URLS)
    core_host.write("shop/__init__.py", "")
    core_host.write("shop/ojs_jobs.py", HANDLER)
    return core_host


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("", id="jobs alone", marks=pytest.mark.long),
        pytest.param(EXTENSIONS, id="with extensions"),
    ],
)
def test_a_project_enqueues_and_runs_its_own_jobs(shop: Host, more: str) -> None:
    shop.add_settings(more)
    shop.run("manage.py", "check")
    shop.run("manage.py", "migrate", "--verbosity", "0")
    planned = shop.run("manage.py", "makemigrations", "--check", "--dry-run")
    assert planned == "No changes detected\n"

    job_id = shop.run("-c", USE).strip()
    shop.run("-m", "django", "runworker", "--once")  # another way to call manage.py

    assert shop.run("-c", LOOK, job_id).strip() == '6 {"to": "ada@example.org", "about": "News"}'
