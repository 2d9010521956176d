"""WSGI application of the standalone server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
application = get_wsgi_application()
