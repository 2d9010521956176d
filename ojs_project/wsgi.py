"""WSGI application of the standalone server."""

import os

import django
from django.conf import settings
from django.urls import get_resolver

from jobs import bounds
from jobs.fastpath import memory
from jobs.fastpath.application import Application, reduce_receivers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
bounds.for_process(bounds.Work.REQUESTS)
django.setup(set_prefix=False)
application = Application()
if not settings.DEBUG:
    reduce_receivers()
get_resolver().url_patterns  # noqa: B018 - loads the views before `gc.freeze`
memory.prepare_memory()
