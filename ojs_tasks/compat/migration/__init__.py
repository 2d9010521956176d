"""Write a module `ojs_jobs` for a project that comes from Celery or django-q2."""
