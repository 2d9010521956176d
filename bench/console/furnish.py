"""Adds objects to a demo for a picture of every page.

They are pools, routing rules, schemas, a webhook, a limit, an operation, a simulation, a classified
job, and a federation whose other region is down. Existing objects stay, and jobs are enqueued once.
"""

from typing import Any

from playwright.sync_api import APIRequestContext, Page

QUEUE, TYPE = "letters", "letter.render"
JOBS = 80
NOBODY = "http://127.0.0.1:9"
RULES = {
    "rules": [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}],
    "plan": {"steps": [10, 50, 100], "bake_time": "PT30M"},
    "auto_rollback": {"error_rate_threshold": 0.2, "evaluation_window": "PT30M"},
}
INVOICE = {"type": "object", "properties": {"amount": {"type": "integer"}}}
NOTE = """The **mail team** owns this. Reach it at [the rota](https://wiki.example.org/mail).

1. Look at the relay: `systemctl status relay`.
2. If it is down, pause the queue and write to the channel *mail*.
3. When it is back, resume the queue and run the procedure below.

| Symptom | Cause |
|---|---|
| `SmtpTimeout` | the relay is overloaded |
| `SmtpAuth` | the password has changed |
"""
SCHEMAS = {"1.0": INVOICE, "1.1": {**INVOICE, "required": ["amount"]}}


def furnish(page: Page, root: str) -> None:
    """Make all objects on the server at `root` by the API, and by the console's forms."""
    api = page.request

    def send(method: str, path: str, body: Any) -> Any:
        return _sent(api, method, f"{root}/ojs/v1/{path}", body)

    send("PUT", "admin/pools/mailers", {"queues": {"mail": 3, "reports": 1}, "concurrency": 40,
                                        "strategy": "weighted"})  # fmt: skip
    send("PUT", f"admin/routing/{TYPE}", RULES)
    page.goto(f"jobs/?queue={QUEUE}")
    if not page.locator("#live tbody th a").count():
        _jobs(send)
    _federation(send, root)
    for version, invoice in SCHEMAS.items():
        body = {"args_schema": {"type": "array", "prefixItems": [invoice]}}
        send("PUT", f"admin/schemas/{TYPE}/{version}", body)
    _runbooks(send)
    _by_hand(page)


def _runbooks(send: Any) -> None:
    """Write notes and a procedure, and change a queue twice for its history."""
    for place in ("queue/mail", "alert/queue_without_worker", "alert/error_rate"):
        send("PUT", f"admin/attention/notes/{place}", {"text": NOTE})
    send("PUT", "admin/attention/procedures/retry-mail", {
        "about": "queue", "subject": "mail", "action": "retry", "rate": 500,
        "filter": {"queue": "{subject}", "state": "discarded"},
        "description": "Retries the mails that died in an outage of the relay.",
    })  # fmt: skip
    for attempts, timeout_ms in ((3, 30_000), (5, 60_000)):
        config = {"default_timeout_ms": timeout_ms, "default_retry": {"max_attempts": attempts}}
        send("PUT", "queues/mail/config", config)


def _jobs(send: Any) -> None:
    """Enqueue jobs of a version that no worker accepts, and a classified job."""
    for number in range(JOBS):
        send("POST", "jobs", {"type": TYPE, "version": "1.0", "args": [{"amount": number}],
                              "options": {"queue": QUEUE}})  # fmt: skip
    send("POST", "jobs", {"type": "salary.transfer", "args": [{"account": "DE00 1234"}],
                          "meta": {"data_classification": "confidential"},
                          "options": {"queue": "payroll"}})  # fmt: skip
    encoded = {"ojs_encoded": True, "encoding": "gzip/plain+binary/encrypted", "data": "AZ3kQw=="}
    meta = {"ojs.codec.encodings": ["gzip/plain", "binary/encrypted"], "ojs.codec.key_id": "2026"}
    send("POST", "jobs", {"type": "card.charge", "args": [encoded], "meta": meta,
                          "options": {"queue": "cards"}})  # fmt: skip


def _federation(send: Any, root: str) -> None:
    """Register a region that does not answer."""
    for region, url in (("us", root), ("eu", NOBODY)):
        send("PUT", f"admin/federation/regions/{region}", {"url": url, "allow_insecure": True})
    replication = {"enabled": True, "mode": "full"}
    send("PUT", "admin/federation/config", {"replication": replication})


def _by_hand(page: Page) -> None:
    page.goto("webhooks/")
    if page.get_by_text("No subscription yet").count():
        page.get_by_label("URL").fill("https://hooks.example.org/jobs")
        page.get_by_label("Events").fill("job.failed")
        page.get_by_role("button", name="Subscribe").click()
    page.goto("rate-limits/")
    form = page.locator("#override")
    form.get_by_label("Key").fill("type:mail.send")
    form.get_by_label("Active jobs").fill("40")
    form.get_by_role("button", name="Override").click()
    page.goto("operations/new/?verb=export&state=completed")
    page.get_by_role("button", name="Export jobs").click()
    page.get_by_text("done", exact=True).first.wait_for()
    page.goto("simulate/")
    scenario, changes = page.locator("main pre").all_inner_texts()[:2]  # the page's examples
    page.get_by_label("Or a scenario").fill(scenario)
    page.get_by_label("Changes").fill(changes)
    page.get_by_role("button", name="Simulate").click()
    page.locator(".compared canvas").first.wait_for()
    page.goto("api-keys/")
    if page.get_by_text("No API key yet").count():
        form = page.locator("#new")
        form.get_by_label("Name").fill("billing service")
        form.get_by_role("button", name="Create key").click()


def _sent(api: APIRequestContext, method: str, url: str, body: Any) -> Any:
    answer = api.fetch(url, method=method, data=body)
    known = {409}  # it exists already
    if not answer.ok and answer.status not in known:
        raise SystemExit(f"{method} {url}: {answer.status} {answer.text()}")
    return answer.json() if answer.ok and answer.body() else {}
