"""The installed wheel in a project whose packages have the names of ours."""

import pytest

from tests.package.host import Host
from tests.package.test_host import HANDLER, LOOK, documented_settings

OTHERS = ("tenancy", "scheduling", "versioning", "federation", "webhooks", "workflows", "console")
USE = """
import django; django.setup()
from django.test import Client
from ojs_tasks import NoServer, chain, periodic
from shop.ojs_jobs import send_mail
try:
    chain(send_mail.s("a@example.org")).enqueue()
except NoServer as problem:
    assert "'workflows'" in str(problem)
else:
    raise AssertionError("the host's package workflows was used")
try:
    periodic("0 6 * * *", name="daily", args=["a@example.org"])(send_mail)
except NoServer as problem:
    assert "'scheduling'" in str(problem)
else:
    raise AssertionError("the host's package scheduling was used")
assert Client().get("/ops/ojs/manifest").status_code == 200
print(send_mail.enqueue("ada@example.org", subject="News").id)
"""
URLS = """
from django.urls import include, path
urlpatterns = [path("ops/", include("ojs_project.urls_host"))]
"""
REMOTE = """
INSTALLED_APPS = ["ojs_tasks", "jobs", "shop"]
OJS = {"SERVER": "http://127.0.0.1:1", "API_KEY": "secret"}
"""


@pytest.fixture
def shop(core_host: Host) -> Host:
    """Return a project with the documented settings and one handler."""
    core_host.add_settings(documented_settings())
    core_host.write("config/urls.py", URLS)
    core_host.write("shop/__init__.py", "")
    core_host.write("shop/ojs_jobs.py", HANDLER)
    return core_host


@pytest.mark.long
def test_packages_in_the_place_of_apps_that_are_not_used_do_no_harm(shop: Host) -> None:
    for name in OTHERS:
        shop.add_app(name, models="")

    shop.run("manage.py", "check")
    shop.run("manage.py", "migrate", "--verbosity", "0")
    job_id = shop.run("-c", USE).strip()
    shop.run("manage.py", "runworker", "--once")

    assert shop.run("-c", LOOK, job_id).strip().startswith("6 ")


@pytest.mark.parametrize("name", ["workflows", "tenancy"])
def test_a_package_that_hides_an_app_in_use_is_named(shop: Host, name: str) -> None:
    shop.write(f"{name}/__init__.py", "")
    config = f"{name}.apps.{name.title()}Config"
    shop.add_settings(f'\nINSTALLED_APPS += ["{config}"]\n')

    told = shop.try_to_run("manage.py", "check").stderr

    assert f"(ojs.E030) the package '{name}' is that of {shop.folder / name}, which hides" in told
    assert f"rename your package, or list it as '{name}' if you do not use ours" in told


def test_a_project_with_a_package_jobs_is_led_to_remote_mode(shop: Host) -> None:
    shop.write("jobs/__init__.py", "")
    shop.write("jobs/models.py", "")

    told = shop.try_to_run("manage.py", "check").stderr
    shop.add_settings(REMOTE)
    shop.write("config/urls.py", "urlpatterns = []")
    followed = shop.run("manage.py", "check")

    assert f"(ojs.E030) the package 'jobs' is that of {shop.folder / 'jobs'}, which hides" in told
    assert "set OJS['SERVER'] and remove our apps" in told
    assert "no issues" in followed
    options = shop.run("manage.py", "runworker", "--help")
    assert "for the OJS server that OJS['SERVER'] names" in options
    assert "NoServer" not in shop.run("-c", "import django; django.setup(); import shop.ojs_jobs")
