"""Settings of the standalone server, from the environment; see docs/configuration.md."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from durable.conf import MOST_BYTES
from encryption.conf import Conf as EncryptionConf
from federation.conf import Conf as FederationConf
from jobs.conf import Conf
from jobs.domain import extras
from jobs.fastpath import counters
from ojs_project import env
from ojs_project.serving.limits import Limits
from scheduling.conf import Conf as SchedulingConf
from tenancy.conf import Conf as TenancyConf
from versioning.conf import Conf as VersioningConf
from webhooks.conf import Conf as WebhooksConf

if problem := extras.missing("the standalone server", *extras.STANDALONE):
    raise ImproperlyConfigured(problem)
counters.install()  # before any app creates a metric
BASE_DIR = Path(__file__).resolve().parent.parent
# a wheel has the folder `templates` of the repository inside this package
PACKED_TEMPLATES = BASE_DIR / "ojs_project" / "templates"
OWN_TEMPLATES = PACKED_TEMPLATES if PACKED_TEMPLATES.is_dir() else BASE_DIR / "templates"

DEBUG = env.flag("OJS_DEBUG")
SECRET_KEY = env.text("OJS_SECRET_KEY") or ""
if not SECRET_KEY:
    if not (DEBUG or env.flag("OJS_ALLOW_INSECURE") or env.flag("OJS_BUILD")):
        raise ImproperlyConfigured("set OJS_SECRET_KEY (or OJS_SECRET_KEY_FILE)")
    SECRET_KEY = "insecure-" + "x" * 50
ALLOWED_HOSTS = list(env.names("OJS_ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]")))
CSRF_TRUSTED_ORIGINS = list(env.names("OJS_CSRF_TRUSTED_ORIGINS"))

INSTALLED_APPS = [
    "ojs_tasks.apps.TasksConfig",  # first: it explains why another app does not load
    "ojs_project.apps.SiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",  # array columns
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_prometheus",
    "django_q",
    "jobs.apps.JobsConfig",
    "tenancy.apps.TenancyConfig",
    "scheduling.apps.SchedulingConfig",
    "versioning.apps.VersioningConfig",
    "federation.apps.FederationConfig",
    "workflows.apps.WorkflowsConfig",
    "webhooks.apps.WebhooksConfig",
    "durable.apps.DurableConfig",
    "encryption.apps.EncryptionConfig",
    "attention.apps.AttentionConfig",
    "console.apps.ConsoleConfig",
    "ojs_project.apps.ProjectConfig",
]

# API paths skip these: see ojs_project/middleware.py
PAGE_MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "ojs_project.middleware.CheckedPaths",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
PAGE_PREFIXES = ("/console/", "/admin/", "/static/")
MIDDLEWARE = ["jobs.api.transport.Transport", "ojs_project.middleware.PagesOnly"]
CORS_ORIGINS = env.names("OJS_CORS_ORIGINS")
if CORS_ORIGINS:
    from ojs_project import cors

    INSTALLED_APPS.append("corsheaders")
    MIDDLEWARE.insert(
        0, "ojs_project.preflight.Cors"
    )  # browsers must be able to read the refusals of later middleware, too
    # keys only: a page of another origin must not act with the console's login
    CORS_ALLOW_CREDENTIALS = False
    CORS_ALLOW_ALL_ORIGINS = "*" in CORS_ORIGINS
    CORS_ALLOWED_ORIGINS = [one for one in CORS_ORIGINS if one != "*"]
    CORS_URLS_REGEX, CORS_ALLOW_HEADERS, CORS_EXPOSE_HEADERS = cors.URLS, cors.TAKEN, cors.SHOWN
# the admin and `check --deploy` look for middleware by name; PagesOnly runs it for pages
SILENCED_SYSTEM_CHECKS = [
    "admin.E408", "admin.E409", "admin.E410", "security.W001", "security.W002", "security.W003",
]  # fmt: skip
REQUIRE_TLS = env.flag("OJS_REQUIRE_TLS")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = REQUIRE_TLS
if REQUIRE_TLS:  # browsers accept such names from this host alone, by TLS and for all paths
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
SESSION_COOKIE_AGE = env.integer("OJS_SESSION_S", 43_200)
SECURE_HSTS_SECONDS = env.integer("OJS_HSTS_S", 86_400 if REQUIRE_TLS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.flag("OJS_HSTS_SUBDOMAINS")

ROOT_URLCONF = "ojs_project.urls"
WSGI_APPLICATION = "ojs_project.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [OWN_TEMPLATES],  # before those of the admin
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASE_URL = env.text("DATABASE_URL")
if not (DATABASE_URL or env.flag("OJS_BUILD")):
    DATABASE_URL = "postgresql://postgres@localhost/postgres"
_OPTIONS: dict[str, Any] = {
    "server_side_binding": True,
    "application_name": "ojs",
    "connect_timeout": 3,
    "tcp_user_timeout": 10_000,  # ms: a vanished server is noticed before clients give up
    "keepalives_idle": 30,
}


def _database(url: str | None, *, pooled: bool) -> dict[str, Any]:
    if url is None:  # a build reads models and migrations only
        return {"ENGINE": "django.db.backends.dummy"}
    found = env.database(url)
    # a transaction-mode pooler breaks prepared statements
    prepared = {} if pooled else {"prepare_threshold": 2}
    return {
        **found,
        "OPTIONS": {**_OPTIONS, **prepared, **found["OPTIONS"]},
        "CONN_MAX_AGE": None,  # a new connection per request costs six sevenths of the rate
        "CONN_HEALTH_CHECKS": False,
        "DISABLE_SERVER_SIDE_CURSORS": pooled,  # they would outlive the pooler's transaction
    }


DATABASES = {"default": _database(DATABASE_URL, pooled=env.flag("OJS_POOLER"))}
DIRECT_DATABASE_URL = env.text("OJS_DIRECT_DATABASE_URL")
if DIRECT_DATABASE_URL:
    DATABASES["direct"] = _database(DIRECT_DATABASE_URL, pooled=False)
REPLICA_DATABASE_URL = env.text("OJS_REPLICA_DATABASE_URL")
if REPLICA_DATABASE_URL:
    DATABASES["replica"] = _database(REPLICA_DATABASE_URL, pooled=env.flag("OJS_REPLICA_POOLER"))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
STATIC_URL = "/static/"
# messages name jobs and tenants: they stay on the server instead of in a cookie
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
WHITENOISE_USE_FINDERS = True  # files are served from the packages: nothing to collect
AUTHENTICATION_BACKENDS = ["jobs.api.logins.ThrottledBackend"]
LOGIN_URL = "/console/login/"
LOGIN_REDIRECT_URL = "/console/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024  # above the limits of contract 1.6
APPEND_SLASH = False

REST_FRAMEWORK = {
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_SCHEMA_CLASS": "jobs.api.document.OperationSchema",
}
SPECTACULAR_SETTINGS = {"DEFAULT_GENERATOR_CLASS": "jobs.api.document.Generator"}

# Shared by all processes: the cluster of the operator tasks stores its signs of life here
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "ojs_cache",
    }
}
Q_CLUSTER = {
    "name": "ojs",
    "orm": "default",
    "broker_class": "console.cluster.Tasks",  # runs only functions from the table of permits
    "scheduler": False,  # a schedule could run any function
    "workers": 2,
    "timeout": 60,
    "retry": 180,
    "max_attempts": 5,
    "ack_failures": True,
    "catch_up": False,
    "bulk": 1,
    "poll": 2,  # seconds between checks for a task
    "guard_cycle": 2,  # seconds between looks at its processes
    "save_limit": 1000,
    "label": "Operator tasks",
}

_READERS: dict[type, Callable[[str], Any]] = {
    bool: env.flag, int: env.integer, float: env.decimal,
}  # fmt: skip
# the contract's names of some settings, whose values are durations
_DURATIONS = {
    "SHUTDOWN_GRACE_MS": env.duration_ms("OJS_SHUTDOWN_GRACE_PERIOD"),
    "WORKER_SILENCE_MS": env.duration_ms("OJS_WORKER_STALE_AFTER"),
}
_LISTS = {
    "extensions", "enqueue_middleware", "execution_middleware", "events_exclude", "trusted_proxies",
    "job_types", "encryption_keys", "json_user_agents",
}  # fmt: skip

_ALIASES = {"database", "direct_database", "replica_database"}  # follow from the URLs


def _ojs() -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for name, field in Conf.__dataclass_fields__.items():
        variable = f"OJS_{name.upper()}"
        if name in _ALIASES or not env.is_set(variable):
            continue
        read = _READERS.get(type(field.default), env.text)
        chosen[name.upper()] = env.names(variable) if name in _LISTS else read(variable)
    for key, ms in _DURATIONS.items():
        if ms is not None and key in chosen:
            raise ImproperlyConfigured(f"OJS_{key} is set twice, in ms and as a duration")
        chosen |= {} if ms is None else {key: ms}
    return chosen


OJS = _ojs()
BUILT_IN = (
    "federation.extension.Federation",  # refuses before any hook counts jobs
    "scheduling.extension.Cron",
    "scheduling.extension.FairScheduling",
    "versioning.extension.Versioning",  # after the pools: the older of both versions counts
    "tenancy.extension.Tenancy",  # after the pools: a pool's weight of a tenant takes precedence
    "workflows.extension.WorkflowsExtension",
    "webhooks.extension.WebhooksExtension",
    "durable.extension.Durable",
    "encryption.extension.Encryption",
    "attention.extension.AttentionExtension",
)
OJS["EXTENSIONS"] = tuple(dict.fromkeys((*BUILT_IN, *OJS.get("EXTENSIONS", ()))))
if DIRECT_DATABASE_URL:
    OJS["DIRECT_DATABASE"] = "direct"
if REPLICA_DATABASE_URL:
    OJS["REPLICA_DATABASE"] = "replica"
OJS_DEMO = env.flag("OJS_DEMO")
if OJS_DEMO:
    OJS["EXTENSIONS"] = (*OJS["EXTENSIONS"], "ojs_project.demo.DemoExtension")

_SCHEDULING = SchedulingConf()
OJS_SCHEDULING = {
    "DEFAULT_STRATEGY": env.text("OJS_SCHED_DEFAULT_STRATEGY", _SCHEDULING.default_strategy),
    "PRIORITY_SCOPE": env.text("OJS_SCHED_PRIORITY_SCOPE", _SCHEDULING.priority_scope),
    "REQUIRE_POOL": env.flag("OJS_SCHED_REQUIRE_POOL"),
    "POOLS": env.objects("OJS_SCHED_POOLS"),
    "TURNS_KEPT_MS": env.integer("OJS_SCHED_TURNS_KEPT_MS", _SCHEDULING.turns_kept_ms),
}
_ENCRYPTION = EncryptionConf()
OJS_ENCRYPTION = {
    "REQUIRE_ENCODED": env.names("OJS_REQUIRE_ENCODED"),
    "CODEC_SERVER_URL": env.text("OJS_CODEC_SERVER_URL", ""),
    "TOKEN_S": env.integer("OJS_CODEC_TOKEN_S", _ENCRYPTION.token_s),
}
_TENANCY = TenancyConf()
OJS_TENANCY = {
    "ENABLED": env.flag("OJS_TENANCY_ENABLED", default=True),
    "SOURCES": env.names("OJS_TENANCY_SOURCES", _TENANCY.sources),
    "MISSING": env.text("OJS_TENANCY_MISSING", _TENANCY.missing),
    "DEFAULT": env.text("OJS_TENANCY_DEFAULT", _TENANCY.default),
    "STAMP_DEFAULT": env.flag("OJS_TENANCY_STAMP_DEFAULT"),
    "UNKNOWN": env.text("OJS_TENANCY_UNKNOWN", _TENANCY.unknown),
    "ISOLATION": env.text("OJS_TENANCY_ISOLATION", _TENANCY.isolation),
    "UNSCOPED": env.text("OJS_TENANCY_UNSCOPED", _TENANCY.unscoped),
    "TENANTS": env.objects("OJS_TENANTS"),
    "METRICS_MAX": env.integer("OJS_TENANCY_METRICS_MAX", _TENANCY.metrics_max),
    "LABEL_ALL_METRICS": env.flag(
        "OJS_TENANCY_LABEL_ALL_METRICS", default=_TENANCY.label_all_metrics
    ),
    "FULL_RETRY_S": env.integer("OJS_TENANCY_FULL_RETRY_S", _TENANCY.full_retry_s),
    "AUTO_THROTTLE": env.text("OJS_TENANCY_AUTO_THROTTLE", _TENANCY.auto_throttle),
    "THROTTLE_DRY_RUN": env.flag("OJS_TENANCY_THROTTLE_DRY_RUN"),
    "THROTTLE_FACTOR": env.decimal("OJS_TENANCY_THROTTLE_FACTOR", _TENANCY.throttle_factor),
    "THROTTLE_MS": env.integer("OJS_TENANCY_THROTTLE_MS", _TENANCY.throttle_ms),
    "NOISE_INTERVAL_MS": env.integer("OJS_TENANCY_NOISE_INTERVAL_MS", _TENANCY.noise_interval_ms),
    "NOISE_DEPTH_RATIO": env.decimal("OJS_TENANCY_NOISE_DEPTH_RATIO", _TENANCY.noise_depth_ratio),
    "NOISE_ENQUEUE_RATIO": env.decimal(
        "OJS_TENANCY_NOISE_ENQUEUE_RATIO", _TENANCY.noise_enqueue_ratio
    ),
    "NOISE_ACTIVE_RATIO": env.decimal(
        "OJS_TENANCY_NOISE_ACTIVE_RATIO", _TENANCY.noise_active_ratio
    ),
    "NOISE_ERROR_RATIO": env.decimal("OJS_TENANCY_NOISE_ERROR_RATIO", _TENANCY.noise_error_ratio),
    "NOISE_MIN_QUEUED": env.integer("OJS_TENANCY_NOISE_MIN_QUEUED", _TENANCY.noise_min_queued),
    "NOISE_MIN_PER_SECOND": env.decimal(
        "OJS_TENANCY_NOISE_MIN_PER_SECOND", _TENANCY.noise_min_per_second
    ),
    "NOISE_MIN_ACTIVE": env.integer("OJS_TENANCY_NOISE_MIN_ACTIVE", _TENANCY.noise_min_active),
    "NOISE_MIN_OUTCOMES": env.integer(
        "OJS_TENANCY_NOISE_MIN_OUTCOMES", _TENANCY.noise_min_outcomes
    ),
}
_VERSIONING = VersioningConf()
OJS_VERSIONING = {
    "KEEP_TYPE_SUFFIX": env.flag("OJS_VERSION_KEEP_TYPE_SUFFIX"),
    "REQUIRE_DECLARATION": env.flag("OJS_VERSION_REQUIRE_DECLARATION"),
    "HELD_AFTER_MS": env.integer("OJS_VERSION_HELD_AFTER_MS", _VERSIONING.held_after_ms),
    "MAX_VERSIONS": env.integer("OJS_VERSION_MAX_VERSIONS", _VERSIONING.max_versions),
    "SCHEMA_VALIDATION": env.text("OJS_SCHEMA_VALIDATION", _VERSIONING.schema_validation),
    "SCHEMA_VALIDATE_UNVERSIONED": env.text(
        "OJS_SCHEMA_VALIDATE_UNVERSIONED", _VERSIONING.schema_validate_unversioned
    ),
    "SCHEMA_COMPATIBILITY": env.text("OJS_SCHEMA_COMPATIBILITY", _VERSIONING.schema_compatibility),
    "SCHEMA_COMPATIBILITY_MODE": env.text(
        "OJS_SCHEMA_COMPATIBILITY_MODE", _VERSIONING.schema_compatibility_mode
    ),
}
_FEDERATION = FederationConf()
OJS_FEDERATION = {
    "LOCAL_REGION": env.text("OJS_FEDERATION_LOCAL_REGION", _FEDERATION.local_region),
    "CONFIG": env.object_of("OJS_FEDERATION_CONFIG"),
    "REGIONS": env.objects("OJS_FEDERATION_REGIONS"),
    "ALLOW_PRIVATE": env.flag("OJS_FEDERATION_ALLOW_PRIVATE"),
    "REFRESH_MS": env.integer("OJS_FEDERATION_REFRESH_MS", _FEDERATION.refresh_ms),
    "DEDUPE": env.text("OJS_FEDERATION_DEDUPE", _FEDERATION.dedupe),
    "DEDUPE_WINDOW_MS": env.duration_ms("OJS_FEDERATION_DEDUPE_WINDOW")
    or _FEDERATION.dedupe_window_ms,
    "COPIES_RETENTION_MS": env.duration_ms("OJS_FEDERATION_COPIES_RETENTION")
    or _FEDERATION.copies_retention_ms,
}
OJS_DURABLE = {
    "MAX_CHECKPOINT_BYTES": env.integer("OJS_MAX_CHECKPOINT_BYTES", MOST_BYTES),
}
_HOOKS = WebhooksConf()
OJS_WEBHOOKS = {
    "ALLOW_HTTP": env.flag("OJS_WEBHOOK_ALLOW_HTTP"),
    "ALLOW_PRIVATE": env.flag("OJS_WEBHOOK_ALLOW_PRIVATE"),
    "SECRET_KEY": env.text("OJS_SECRET_WEBHOOK_KEY") or "",
    "RETRY_SCHEDULE_S": env.names("OJS_WEBHOOK_SCHEDULE_S") or _HOOKS.retry_schedule_s,
    "TIMEOUT_MS": env.integer("OJS_WEBHOOK_TIMEOUT_MS", _HOOKS.timeout_ms),
    "REDIRECTS": env.integer("OJS_WEBHOOK_REDIRECTS", _HOOKS.redirects),
    "CONCURRENCY": env.integer("OJS_WEBHOOK_CONCURRENCY", _HOOKS.concurrency),
    "CONCURRENCY_PER_SUBSCRIPTION": env.integer(
        "OJS_WEBHOOK_CONCURRENCY_PER_SUBSCRIPTION", _HOOKS.concurrency_per_subscription
    ),
    "DISABLE_AFTER": env.integer("OJS_WEBHOOK_DISABLE_AFTER", _HOOKS.disable_after),
    "ROTATION_MS": env.integer("OJS_WEBHOOK_ROTATION_MS", _HOOKS.rotation_ms),
    "RETENTION_MS": env.integer("OJS_WEBHOOK_RETENTION_MS", _HOOKS.retention_ms),
}

_HTTP = Limits()
OJS_HTTP = {
    "HEADER_TIMEOUT_MS": env.integer("OJS_HTTP_HEADER_TIMEOUT_MS", _HTTP.header_timeout_ms),
    "BODY_TIMEOUT_MS": env.integer("OJS_HTTP_BODY_TIMEOUT_MS", _HTTP.body_timeout_ms),
    "IDLE_TIMEOUT_MS": env.integer("OJS_HTTP_IDLE_TIMEOUT_MS", _HTTP.idle_timeout_ms),
    "WRITE_TIMEOUT_MS": env.integer("OJS_HTTP_WRITE_TIMEOUT_MS", _HTTP.write_timeout_ms),
    "QUEUE_TIMEOUT_MS": env.integer("OJS_HTTP_QUEUE_TIMEOUT_MS", _HTTP.queue_timeout_ms),
    "QUEUE": env.integer("OJS_HTTP_QUEUE", _HTTP.queue),
    "CONNECTIONS": env.integer("OJS_HTTP_CONNECTIONS", _HTTP.connections),
    "CLIENT_CONNECTIONS": env.integer("OJS_HTTP_CLIENT_CONNECTIONS", _HTTP.client_connections),
    "BODY_BYTES": env.integer("OJS_HTTP_BODY_BYTES", _HTTP.body_bytes),
    "RESPONSE_BYTES": env.integer("OJS_HTTP_RESPONSE_BYTES", _HTTP.response_bytes),
}
Limits.of(OJS_HTTP)  # raises for impossible values at the start

OJS_CONSOLE = {
    "READ_ONLY": env.flag("OJS_CONSOLE_READ_ONLY"),
    "TRACE_URL": env.text("OJS_CONSOLE_TRACE_URL") or "",
    "LOG_URL": env.text("OJS_CONSOLE_LOG_URL") or "",
    "MANUAL_URL": env.text("OJS_CONSOLE_MANUAL_URL") or "",
}

_LOG_STREAM = env.choice("OJS_LOG_STREAM", ("stdout", "stderr"))
_IS_QUIET_DEMO = OJS_DEMO and not env.is_set("OJS_LOG_LEVEL")
LEVELS = ("INFO", "DEBUG", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "jobs.logs.TextFormatter"},
        "json": {"()": "ojs_project.logs.JsonFormatter"},
    },
    "filters": {
        "no_attempts": {
            "()": "django.utils.log.CallbackFilter",
            "callback": lambda record: record.msg != "attempt.failed",
        }
    },
    "handlers": {
        "stream": {
            "class": "ojs_project.logs.LineHandler",
            "stream": f"ext://sys.{_LOG_STREAM}",
            "formatter": env.choice("OJS_LOG_FORMAT", ("text", "json")),
        }
    },
    "root": {"handlers": ["stream"], "level": env.choice("OJS_LOG_LEVEL", LEVELS)},
    "loggers": {
        "httpx": {"level": "WARNING"},  # it would log the URLs of subscribers
        # the log lines of demo jobs would bury the password, which the quickstart shows once
        **(
            {"ojs.lifecycle": {"level": "CRITICAL"}, "ojs.worker": {"filters": ["no_attempts"]}}
            if _IS_QUIET_DEMO
            else {}
        ),
    },
}
