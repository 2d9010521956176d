"""A host project whose users have a model of their own, without `username` and without an admin."""

from pathlib import Path

from pytest_django.plugin import DjangoDbBlocker

from tests.project import hosting
from tests.project.hosting import Host

MODELS = """
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models

class Customers(BaseUserManager):
    def create_superuser(self, email, password):
        made = self.model(email=email, is_staff=True, is_superuser=True)
        made.set_password(password)
        made.save()
        return made

class Customer(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    objects = Customers()
    USERNAME_FIELD = "email"
"""
URLS = """
from django.contrib import admin
from django.urls import include, path
urlpatterns = [
    path("ops/", include("ojs_project.urls_host")), path("admin/", admin.site.urls),
]
"""
PAGES = """
import django; django.setup()
from django.contrib.auth import get_user_model
from django.test import Client
from jobs.domain.access.caller import Caller
from jobs.services.access.staff import restrict

ada = get_user_model().objects.create_superuser("ada@example.org", "for-this-test")
browser = Client()
signed_in = browser.post(
    "/ops/console/login/", {"username": "ada@example.org", "password": "for-this-test"}
)
print(signed_in.status_code)
for path in (
    "/ops/console/", "/admin/ojs_jobs/staff/?q=ada", "/admin/ojs_jobs/staff/add/",
):
    print(browser.get(path, follow=True).status_code)
restrict(ada, ["north"], Caller("manage.py"))
print(b"ada@example.org" in browser.get("/admin/ojs_jobs/staff/?q=ada").content)
"""


def test_the_admin_and_the_console_serve_users_of_the_project(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> None:
    host = Host(tmp_path)
    with django_db_blocker.unblock(), hosting.databases("own_user") as made:
        host.make(
            URLS,
            DATABASES={"default": made["own_user"]},
            INSTALLED_APPS=["ojs_tasks", *hosting.ALL, "accounts", "shop"],
            AUTH_USER_MODEL="accounts.Customer",
            OJS={"EXTENSIONS": hosting.EXTENSIONS},
        )
        host.write("accounts/__init__.py", "")
        host.write("accounts/models.py", MODELS)
        host.run("manage.py", "makemigrations", "accounts", "--verbosity", "0")
        host.run("manage.py", "migrate", "--verbosity", "0")

        assert host.run("-c", PAGES).split() == ["302", "200", "200", "200", "True"]
