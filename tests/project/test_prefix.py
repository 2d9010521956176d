"""All pages and the API below a prefix of a host project."""

from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.project import hosting
from tests.project.hosting import Host

URLS = """
from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path
urlpatterns = [
    path("ops/ojs/", include("ojs_project.urls_host")),
    path("admin/", admin.site.urls),
]
"""
BEGIN = """
import json, re, sys, django; django.setup()
from django.contrib.auth.models import User
from django.test import Client
P = "/ops/ojs"
api = Client()
"""
API = (
    BEGIN
    + """
made = api.post(
    f"{P}/ojs/v1/jobs", {"type": "mail.send", "args": ["ada@example.org"], "queue": "mail"},
    "application/json",
)
print(made.status_code, made["Location"] == f"{P}/ojs/v1/jobs/{made.json()['job']['id']}")
fetched = api.post(f"{P}/ojs/v1/workers/fetch", {"queues": ["mail"]}, "application/json")
job_id = fetched.json()["jobs"][0]["id"]
acked = api.post(f"{P}/ojs/v1/workers/ack", {"job_id": job_id}, "application/json")
print(fetched.status_code, acked.status_code, api.get(made["Location"]).json()["job"]["state"])
short = api.post(f"{P}/v1/jobs", {"type": "mail.send", "args": []}, "application/json")
print(short.status_code, short["Location"].startswith(f"{P}/ojs/v1/jobs/"))
print(*(api.get(P + path).status_code for path in (
    "/livez", "/health", "/ojs/v1/health", "/metrics", "/ojs/v1/queues", "/ojs/v1/cron",
    "/ojs/v1/workflows", "/ojs/v1/webhooks/subscriptions", "/ojs/v1/schemas",
)))
print(api.get(f"{P}/ojs/manifest").json()["endpoints"])
"""
)
OPENAPI = (
    BEGIN
    + """
for path in ("/ojs/v1/openapi.json", "/v1/openapi.json"):
    document = api.get(P + path).json()
    print(document["servers"], sorted(document["paths"])[:1], len(document["paths"]) > 50,
          all(name.startswith(("/ojs/", "/health", "/live", "/metrics", "/ready"))
              for name in document["paths"]))
print(document["paths"]["/health"]["get"]["operationId"])
"""
)
OUTSIDE = (
    BEGIN
    + """
print(*(api.get(path).status_code for path in (
    "/", "/metrics", "/health", "/livez", "/v1/jobs", "/ojs/v1/jobs", "/ojs/manifest", "/console/",
    "/favicon.ico", "/ops/", "/ops/ojs/v2/jobs",
)))
"""
)
CONSOLE = (
    BEGIN
    + """
User.objects.create_superuser("ada", password="for-this-test")
browser = Client()
home = browser.get(P + "/")
print(home.status_code, home["Location"])
asked = browser.get(home["Location"])
print(asked.status_code, asked["Location"])
entered = browser.post(asked["Location"].partition("?")[0],
                       {"username": "ada", "password": "for-this-test"})
print(entered.status_code, entered["Location"])
slash = browser.get(f"{P}/console/jobs")
print(slash.status_code, slash["Location"])
outside = set()
for page in ("", "jobs/", "queues/", "events/", "workers/", "system/", "cron/", "workflows/"):
    shown = browser.get(f"{P}/console/{page}")
    assert shown.status_code == 200, page
    links = re.findall(r'(?:href|src|action|data-[a-z-]+)="(/[^"]*)"', shown.content.decode())
    outside |= {link for link in links if not link.startswith((P, "/static/ojs/"))}
print(outside)
events = browser.get(f"{P}/console/events/").content.decode()
stream = re.search(r'data-ojs-stream="([^"]*)"', events)[1]
opened = browser.get(stream, **{"ojs.streams": True})
print(stream, opened.status_code, opened["Content-Type"].partition(";")[0],
      next(iter(opened.streaming_content))[:6])
opened.close()
print(browser.get(f"{P}/admin/").status_code, browser.get(f"{P}/admin/ojs_jobs/job/").status_code,
      b"Groups" in browser.get(f"{P}/admin/").content,
      b"Groups" in browser.get("/admin/").content)
"""
)


@pytest.fixture(scope="module")
def host(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Host]:
    """Give a project that includes everything below a prefix."""
    with django_db_blocker.unblock(), hosting.databases("prefix") as made:
        host = Host(tmp_path_factory.mktemp("host")).make(
            URLS,
            DATABASES={"default": made["prefix"]},
            INSTALLED_APPS=[*hosting.ALL, "shop"],
            OJS={"AUTH": "off", "ALLOW_INSECURE": True, "EXTENSIONS": hosting.EXTENSIONS},
        )
        host.run("manage.py", "check")
        host.run("manage.py", "migrate", "--verbosity", "0")
        yield host


def test_the_api_answers_below_the_prefix(host: Host) -> None:
    assert host.run("-c", API).splitlines() == [
        "201 True",
        "200 200 completed",
        "201 True",
        "200 200 200 200 200 200 200 200 200",
        "{'base_url': 'http://testserver/ops/ojs/ojs/v1', 'manifest': '/ops/ojs/ojs/manifest',"
        " 'health': '/ops/ojs/ojs/v1/health'}",
    ]


def test_the_openapi_document_names_the_prefix_as_its_server(host: Host) -> None:
    first, second, name = host.run("-c", OPENAPI).splitlines()

    assert first == second == "[{'url': '/ops/ojs'}] ['/health'] True True"
    assert name == "getHealthShort"


def test_nothing_is_served_outside_the_prefix(host: Host) -> None:
    assert set(host.run("-c", OUTSIDE).split()) == {"404"}


def test_the_console_its_links_and_its_stream_stay_below_the_prefix(host: Host) -> None:
    assert host.run("-c", CONSOLE).splitlines() == [
        "302 /ops/ojs/console/",
        "302 /ops/ojs/console/login/?next=/ops/ojs/console/",
        "302 /ops/ojs/console/",
        "308 /ops/ojs/console/jobs/",
        "set()",
        "/ops/ojs/ojs/v1/events/stream? 200 text/event-stream b'retry:'",
        "200 200 False True",
    ]
