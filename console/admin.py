"""Read-only pages of the console's tables in Django admin; the console changes them."""

from django.contrib import admin

from console import models
from console.site import Site
from console.users import FORMS
from jobs.admin import ReadOnly

# replace Django's own classes, but not in the admin of a host project
for model, form in FORMS.items() if isinstance(admin.site, Site) else ():
    if admin.site.is_registered(model):
        admin.site.unregister(model)
        admin.site.register(model, form)


@admin.register(models.Operation)
class OperationAdmin(ReadOnly):
    """Operations on many jobs."""

    list_display = ("id", "verb", "state", "actor", "tenant", "matched", "done", "started_at")
    list_filter = ("verb", "state")
    ordering = ("-id",)


@admin.register(models.SavedView)
class SavedViewAdmin(ReadOnly):
    """Saved views of lists."""

    list_display = ("name", "page", "owner", "is_shared", "created_at")
    list_filter = ("page", "is_shared")
    ordering = ("name",)
