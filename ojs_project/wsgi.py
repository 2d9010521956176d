"""WSGI application of the standalone server."""

import os

from django.conf import settings
from django.urls import get_resolver

from jobs import bounds
from jobs.fastpath import memory
from jobs.fastpath.application import Application, reduce_receivers
from ojs_project.loading import load

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
bounds.for_process(bounds.Work.REQUESTS)
load()
get_resolver().url_patterns  # noqa: B018 - loads the views before `gc.freeze`

from jobs.fastpath import entry  # noqa: E402 - needs Django's apps
from ojs_project import hosts  # noqa: E402

application = Application(entry.Entry(hosts.refusal) if entry.is_possible() else None)
if not settings.DEBUG:
    reduce_receivers()
memory.prepare_memory()
