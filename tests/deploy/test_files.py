"""The files in deploy/ name variables, commands, options, paths and metrics that exist."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.urls import resolve
from prometheus_client.parser import text_string_to_metric_families

from ojs_project import gunicorn
from tests.conftest import ROOT
from tests.project.test_documentation import documented

DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and "secrets" not in path.parts)
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
RULES = [
    rule
    for name in ("recording.yml", "alerts.yml")
    for group in yaml.safe_load((DEPLOY / "prometheus" / name).read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
BOARDS = {path.stem: json.loads(path.read_text()) for path in DEPLOY.rglob("dashboards/*.json")}
# variables of the files themselves, which the shell or the proxy replaces
OWN = {"OJS_HOST", "OJS_QUEUES", "OJS_SITE", "OJS_UPSTREAM"}
# metrics of Prometheus and of postgres_exporter with the collectors that compose.yaml selects
OTHERS = {
    "up", "pg_up", "pg_database_size_bytes", "pg_locks_count", "pg_replication_lag_seconds",
    "pg_settings_max_connections", "pg_stat_activity_count", "pg_stat_activity_max_tx_duration",
    "pg_stat_database_blks_hit", "pg_stat_database_blks_read", "pg_stat_database_deadlocks",
    "pg_stat_database_xact_commit", "pg_stat_database_xact_rollback",
    "pg_stat_user_tables_n_dead_tup",
}  # fmt: skip
METRIC = re.compile(r"\b(?:up|(?:ojs|django|pg)_[a-z_0-9]+|ojs:[a-z_0-9:]+)\b")


def named(path: Path) -> str:
    """Return a readable id."""
    return str(path.relative_to(DEPLOY))


def expressions() -> Iterator[str]:
    """Yield every expression of rules, dashboards and autoscalers."""
    yield from (rule["expr"] for rule in RULES)
    for board in BOARDS.values():
        yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])
        yield from (one["query"]["query"] for one in board["templating"]["list"][1:])
    scaling = (DEPLOY / "kubernetes/overlays/production/scaling.yaml").read_text()
    yield from re.findall(r"query: (.+)", scaling)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_variables_exist(path: Path) -> None:
    found = set(re.findall(r"\bOJS_[A-Z_]*[A-Z]\b", path.read_text()))

    assert {name.removesuffix("_FILE") for name in found} <= documented().keys() | OWN


@pytest.mark.parametrize("path", FILES, ids=named)
def test_commands_and_their_options_exist(path: Path) -> None:
    text = path.read_text()
    for command, rest in re.findall(r"\bojs-server[\s,-]+([a-z]+)([^\n;]*(?:\n +- --.*)*)", text):
        app = get_commands()[command]
        made = app if not isinstance(app, str) else load_command_class(app, command)
        options = made.create_parser("ojs-server", command)._option_string_actions.keys()
        assert set(re.findall(r"(?<![\w-])--[a-z-]+", rest)) <= options
    for option in re.findall(r"config[ =]python:(\S+?)[\"',\s]", text):
        assert option == gunicorn.__name__


def test_images_are_pinned_and_no_index_is_named() -> None:
    for path in FILES:
        text = path.read_text()
        assert not re.search(r"--(?:extra-)?index-url|PIP_INDEX_URL|--trusted-host", text), path
        for image in re.findall(r"^\s*(?:- )?(?:image|imageName|FROM):? +(\S+)", text, re.M):
            if image not in {"ojs", "ojs:local"}:  # built here; its tag is in kustomization.yaml
                assert re.search(r":v?\d+\.\d+[\w.-]*$", image), (path, image)


def test_probes_lead_to_paths_of_the_server() -> None:
    text = "\n".join(path.read_text() for path in FILES if path.suffix != ".json")
    probes = {
        *re.findall(r"httpGet: \{path: (\S+),", text), *re.findall(r"health_uri (\S+)", text),
        *re.findall(r"127\.0\.0\.1:8\d*(/[a-z]+)", text), *re.findall(r"metrics_path: (\S+)", text),
    }  # fmt: skip

    assert probes == {"/livez", "/readyz", "/metrics"}
    assert {resolve(probe).url_name for probe in probes} == {
        "ojs-livez",
        "ojs-readyz",
        "ojs-metrics",
    }


def test_proxies_know_the_streams_of_the_server() -> None:
    streams = (
        "/ojs/v1/events", "/ojs/v1/events/stream", "/ojs/v1/jobs/x/events",
        "/ojs/v1/queues/x/events", "/ojs/v1/jobs/x/progress/stream", "/ojs/v1/admin/stats/stream",
    )  # fmt: skip
    for name in ("nginx/ojs.conf", "caddy/Caddyfile"):
        (pattern,) = re.findall(r"(?:~|path_regexp) (\^\S+)", (DEPLOY / name).read_text())
        for path in streams:
            assert resolve(path)
            assert re.match(pattern, path), (name, path)
        assert not re.match(pattern, "/ojs/v1/jobs")


@pytest.mark.usefixtures("store")
def test_metrics_exist(client: Client) -> None:
    answer = client.get("/metrics")
    families = list(text_string_to_metric_families(answer.content.decode()))
    shown = {
        f"{family.name}{end}"
        for family in families
        for end in ("", "_total", "_bucket", "_count", "_sum")
    }
    recorded = {rule["record"] for rule in RULES if "record" in rule}

    used = {name for one in expressions() for name in METRIC.findall(one)}
    assert used - shown - recorded - OTHERS == set()
    assert recorded <= used, "a recorded series is not used"


def test_each_alert_has_a_test_that_fires_it_one_that_does_not_and_a_section() -> None:
    tests = yaml.safe_load((DEPLOY / "prometheus" / "rules_test.yml").read_text())["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    page = (ROOT / "docs" / "deploy" / "monitoring.md").read_text()
    sections = dict(re.findall(r"^### (OJS\w+)\n(.+?)(?=^##|\Z)", page, re.M | re.S))

    fired = {case["alertname"] for case in cases if case["exp_alerts"]}
    silent = {case["alertname"] for case in cases if not case["exp_alerts"]}
    assert fired == silent == ALERTS.keys() == sections.keys()
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook"] == f"deploy/monitoring.html#{name.lower()}"
        for part in ("**Meaning.**", "**Causes.**", "**What to do.**"):
            assert part in sections[name], (name, part)


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_has_a_stable_id_titles_and_only_variables_that_it_defines(name: str) -> None:
    board = BOARDS[name]
    defined = {one["name"] for one in board["templating"]["list"]}

    assert board["uid"] == name
    assert all(panel["title"] and panel["targets"] for panel in board["panels"])
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in board["panels"]]
    assert len(set(places)) == len(places)
    assert set(re.findall(r"\$\{?([a-z]+)", json.dumps(board))) == defined


def test_a_container_has_no_privileges_and_enough_time_to_end() -> None:
    for name in ("migrate", "http", "loops", "handlers", "qcluster"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
    for name in ("http", "loops", "handlers"):
        assert COMPOSE["services"][name]["stop_grace_period"] == "40s"  # grace of 30 s and ten more


def test_secrets_are_files_that_the_script_creates() -> None:
    script = (DEPLOY / "compose" / "make-secrets.sh").read_text()
    for name, source in COMPOSE["secrets"].items():
        assert source == {"file": f"./secrets/{name}"}
        assert re.search(rf"\b{re.escape(name)}\b", script), name
    kept = [
        path
        for path in FILES
        if re.search(r"PASSWORD[\"']?\s*[:=]\s*[\"']?\w{6,}", path.read_text())
    ]

    assert kept == []


@pytest.mark.parametrize("path", [one for one in FILES if one.suffix == ".sh"], ids=named)
def test_scripts_are_executable_and_parse(path: Path) -> None:
    assert path.stat().st_mode & 0o111
    done = subprocess.run(["sh", "-n", path], check=False, capture_output=True, text=True)
    assert done.stderr == ""
