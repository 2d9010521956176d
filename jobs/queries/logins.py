"""Count logins before their passwords are checked."""

from jobs.queries.base import run


def login_try(kind: str, digest: str, window_ms: int) -> tuple[int, int]:
    """Count a login; returns how many there were in the window, and the seconds until it ends."""
    given = {"kind": kind, "digest": digest, "window_ms": window_ms}
    tries, left_s = run("login_try", given)[0]
    return int(tries), int(left_s)
