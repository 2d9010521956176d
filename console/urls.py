"""Routes of the pages of the console, under any prefix of the project.

Each path ends in a slash; the path without it redirects.
"""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, path, re_path
from django.utils.module_loading import import_string

from console.pages import Page, installed
from console.slash import WithSlash


def _route(page: Page) -> URLPattern:
    view = import_string(f"console.views.{page.view}")
    route: URLPattern = path(page.path, view.as_view(), name=page.name)
    return route


app_name = "ojs_console"
urlpatterns = [
    *map(_route, installed()),
    path(
        "login/",
        LoginView.as_view(
            template_name="ojs/console/login.html",
            redirect_authenticated_user=True,
            next_page="ojs_console:overview",
        ),
        name="login",
    ),
    path("logout/", LogoutView.as_view(next_page="ojs_console:login"), name="logout"),
    re_path(r"^.*[^/]$", WithSlash.as_view()),
]
