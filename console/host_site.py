"""The admin of these apps in a project that has an admin of its own."""

from django.contrib import admin
from django.contrib.auth import get_user_model

from console.site import Site
from jobs.admin import ReadOnly
from jobs.database_router import PREFIX

_NAME = get_user_model().USERNAME_FIELD


class Users(ReadOnly):
    """The users of the project, to choose from; the project's own admin changes them."""

    list_display = (_NAME, "is_active")
    search_fields = (_NAME,)
    ordering = (_NAME,)


def beside_host() -> Site:
    """Return a site with the pages of these apps, once all apps are loaded."""
    site = Site(name="ojs_admin")
    site.register(get_user_model(), Users)
    for model, form in admin.site._registry.items():
        if model._meta.app_label.startswith(PREFIX):
            site.register(model, type(form))
    return site
