"""WSGI application of the standalone server."""

import multiprocessing
import os
import signal

if multiprocessing.parent_process():
    # A worker of granian has the handlers of its parent until it serves; they would swallow a
    # SIGTERM that comes while the imports below run, and the stop would end in a kill much later.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
application = get_wsgi_application()
