"""The core's settings: `settings.OJS` read once into a frozen object with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.core.signals import setting_changed


@dataclass(frozen=True, slots=True)
class Conf:
    """Names are the keys of `settings.OJS` in lower case; durations are milliseconds."""

    auth: str = "apikey"  # or "off"
    allow_insecure: bool = False
    allow_reset: bool = False
    test_directives: bool = False
    metrics_public: bool = False
    short_paths: bool = True
    json_user_agents: tuple[str, ...] = ()  # prefixes; these get application/json, `*`: all
    admin_ui_dir: str | None = None
    extensions: tuple[str, ...] = ()
    enqueue_middleware: tuple[str, ...] = ()
    execution_middleware: tuple[str, ...] = ()
    events_exclude: tuple[str, ...] = ("job.heartbeat", "worker.heartbeat")  # may end in `*`
    stream_heartbeat_ms: int = 10_000  # of event streams: a comment at least this often
    stream_limit: int = 500  # streams per process, each a thread
    stream_limit_per_client: int = 100  # of these for one key or address
    stream_buffer: int = 1_000  # events that wait for a slow client
    stream_events_per_second: int = 100  # per stream; more wait in the buffer
    stream_stats_ms: int = 2_000  # interval of the numbers in admin/stats/stream
    sse_query_token: bool = False  # a key may be sent as ?access_token= of a stream
    database: str = "default"  # alias: of all tables, but for the tables of users
    direct_database: str = ""  # alias of the same database past any pooler; empty: no pooler
    replica_database: str = ""  # alias of a hot standby for pages and lists; empty: none
    replica_max_lag_ms: int = 10_000  # of the standby; beyond it the database itself is read
    project: str | None = None  # owner of the schedules in code; None: package of ROOT_URLCONF
    docs_url: str = "https://openjobspec.org/errors/"
    homepage: str = "https://openjobspec.org/"
    # Bounds of database statements for requests, and for all other work; 0: no bound
    statement_timeout_ms: int = 6_000
    lock_timeout_ms: int = 5_000
    task_statement_timeout_ms: int = 300_000
    task_lock_timeout_ms: int = 30_000
    idle_in_transaction_timeout_ms: int = 60_000
    default_visibility_ms: int = 1_800_000
    worker_silence_ms: int = 30_000
    shutdown_grace_ms: int = 30_000
    # Requests, and enqueued jobs, per principal, second and process; 0: any number
    api_requests_per_s: int = 0
    api_enqueues_per_s: int = 0
    api_burst_s: int = 5  # how many seconds' worth may come at once
    api_key_cache_ms: int = 3_000
    encryption_keys: tuple[str, ...] = ()  # of stored secrets: the first encrypts, all decrypt
    apikey_hasher: str = "sha256"  # of new keys; or "argon2", "scrypt"
    require_tls: bool = False  # plain HTTP answers 403, except health
    trusted_proxies: tuple[str, ...] = ()  # networks with trusted X-Forwarded-*
    tls_subject_header: str | None = None  # with a client's certificate, from these
    # failed logins per account, and per address, in a window; 0: any number
    login_account_failures: int = 10
    login_address_failures: int = 100
    login_window_ms: int = 900_000
    max_envelope_bytes: int = 1_048_576
    max_body_bytes: int = 10_485_760
    max_meta_bytes: int = 65_536
    max_result_bytes: int = 1_048_576
    max_batch: int = 10_000
    job_types: tuple[str, ...] = ()  # globs of the accepted types; empty: all
    strict_attributes: bool = False  # refuses unknown attributes instead of storing them
    meta_reject_newlines: bool = False
    trace_inject: bool = True  # adds the request's trace context to the meta of its jobs
    trace_handlers: str = "link"  # spans of attempts; or "child", of the producer's span
    stamp_request_id: bool = False  # adds its id, too: as `request_id`
    gather_enqueues: bool = True  # of concurrent threads, where connections are kept
    lean_entry: bool = True  # hot operations skip Django's request handler
    log_sample: float = 1.0  # from 0 to 1: the part of jobs with ordinary log lines
    default_on_exhaustion: str = "discard"  # or "dead_letter", where a policy does not say
    # ISO 8601 durations, as in queues; "0" and 0: for ever, any number
    retention_completed: str = "P7D"
    retention_cancelled: str = "P7D"
    retention_discarded: str = "P30D"
    retention_dead_letter: str = "P180D"
    retention_dead_letter_jobs: int = 10_000  # per queue
    # records of what operators changed, for an undo: of one operation, and of all together
    undo_jobs: int = 1_000_000
    undo_bytes: int = 2_000_000_000
    retention_events: str = "P7D"
    retention_event_rows: int = 1_000_000
    retention_unread_events: int = 10_000_000  # for a reader that stands still
    retention_minutes: str = "P2D"  # of the counts per minute, hour and day
    retention_hours: str = "P90D"
    retention_days: str = "P730D"
    retention_audit: str = "P365D"
    pruning_policy: str = "delete"  # or "archive"

    @property
    def heard_ms(self) -> int:
        """Age from which a stored sign of life, or a lease, is renewed by a request."""
        return self.worker_silence_ms // 20


@cache
def conf() -> Conf:
    """Read the settings; unknown keys are reported by `checks.py`, not here."""
    return from_mapping(getattr(settings, "OJS", {}))


def from_mapping(raw: Mapping[str, Any]) -> Conf:
    """Build a Conf from upper-case keys, sequences as tuples."""
    names = {field.name for field in fields(Conf)}
    chosen: dict[str, Any] = {k.lower(): v for k, v in raw.items() if k.lower() in names}
    chosen |= {key: tuple(value) for key, value in chosen.items() if isinstance(value, list)}
    chosen["direct_database"] = chosen.get("direct_database") or chosen.get("database", "default")
    return Conf(**chosen)


class Cached(Protocol):
    def cache_clear(self) -> None: ...


def read_anew(*cached: Cached, setting: str = "OJS") -> None:
    """Clear cached functions of settings when a test changes one."""

    def clear(*, setting: str, of: str = setting, **_: Any) -> None:
        if setting == of:
            for function in cached:
                function.cache_clear()

    setting_changed.connect(clear, weak=False)


read_anew(conf)
