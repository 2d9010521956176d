"""Configuration of gunicorn, for `gunicorn --config python:ojs_project.gunicorn`.

Its other options, such as `--bind`, `--workers` and `--threads`, work as documented by gunicorn.
"""

wsgi_app = "ojs_project.wsgi:application"
worker_class = "ojs_project.serving.worker.OJSWorker"
bind = "127.0.0.1:8000"
workers = 2
threads = 4
backlog = 2048
timeout = 60  # seconds; gunicorn replaces a process that gives no sign of life for so long
graceful_timeout = 30
control_socket_disable = True
