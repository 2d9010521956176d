"""python -m tests.deploy.check FOLDER: let the tools in FOLDER and on the PATH check deploy/.

The checks run side by side. One whose tool is missing is left out, and named at the end. The exit
status is 1 if a check fails. `make deploy-check` gets the tools first.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import monotonic
from typing import Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent.parent
DEPLOY: Final = ROOT / "deploy"
PROMETHEUS: Final = DEPLOY / "prometheus"
KUBERNETES: Final = ("1.32.0", "1.37.0")  # the oldest and the newest with which the files must fit
# resources of operators, whose schemas no package has
OPERATORS: Final = {"Cluster", "Pooler", "ScaledObject"}
EXPOSURE: Final = "20"  # of systemd-analyze security, from 0 to 100
YAMLLINT: Final = (
    "{extends: default, rules: {document-start: disable, line-length: {max: 105},"
    " truthy: {check-keys: false}, braces: {max-spaces-inside: 0},"
    " comments: {min-spaces-from-content: 1}}}"
)


class Failed(Exception):
    """A tool refuses a file; the message has its output."""


class Tools:
    """The tools in a folder and on the PATH."""

    def __init__(self, folder: Path) -> None:
        """Look into this folder first."""
        places = [folder / part for part in ("bin", "root/usr/bin", "root/usr/sbin")]
        self.path = os.pathsep.join([*map(str, places), os.environ["PATH"], "/usr/sbin"])
        # of packages that are unpacked only
        libraries = [*folder.glob("root/**/lib/*-linux-gnu"), *folder.glob("root/**/lib/*/systemd")]
        self._more = {"LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries))} if libraries else {}
        if (units := folder / "root" / "lib" / "systemd" / "system").is_dir():
            self._more["SYSTEMD_UNIT_PATH"] = f"{units}:"  # targets that the system lacks

    def lacks(self, name: str) -> bool:
        """Return whether this tool is missing."""
        return shutil.which(name, path=self.path) is None

    def run(self, *command: str | Path, folder: Path = ROOT) -> str:
        """Run a tool; returns its output on both channels. Raises Failed."""
        done = subprocess.run(
            [shutil.which(str(command[0]), path=self.path) or command[0], *command[1:]],
            cwd=folder, env={**os.environ, "PATH": self.path, **self._more}, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
        return done.stdout


def check_yaml(tools: Tools, _work: Path) -> None:
    """Style and syntax of all YAML files."""
    tools.run("yamllint", "--strict", "--config-data", YAMLLINT, DEPLOY)


def check_compose(tools: Tools, _work: Path) -> None:
    """Compare compose.yaml with the schema of the Compose specification."""
    tools.run(
        "check-jsonschema", "--builtin-schema", "vendor.compose-spec",
        DEPLOY / "compose" / "compose.yaml",
    )  # fmt: skip


def check_kubernetes(tools: Tools, work: Path) -> None:
    """Build each overlay and compare it with the schemas of two versions of Kubernetes."""
    for overlay in sorted((DEPLOY / "kubernetes" / "overlays").iterdir()):
        built = tools.run("kubectl", "kustomize", overlay)
        known = [one for one in yaml.safe_load_all(built) if one["kind"] not in OPERATORS]
        file = work / f"{overlay.name}.yaml"
        file.write_text(yaml.safe_dump_all(known))
        for version in KUBERNETES:
            tools.run(
                "kubernetes-validate", "--strict", "--quiet", "--kubernetes-version", version, file
            )


def check_systemd(tools: Tools, work: Path) -> None:
    """Verify the units with programs that exist, and bound what a service may do."""
    program = work / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    units = []
    for source in sorted((DEPLOY / "systemd").glob("ojs*.*")):
        if source.suffix in {".service", ".target"}:
            text = source.read_text()
            for name in ("gunicorn", "ojs-server"):
                text = re.sub(rf"/usr/local/lib/ojs/(current|%i)/bin/{name}", str(program), text)
            unit = work / source.name.replace("@.", "@default.")
            unit.write_text(text)
            units.append(unit)
    if said := tools.run("systemd-analyze", "verify", *units).strip():
        raise Failed(said)  # an unknown directive is only a warning
    for unit in units:
        if unit.suffix == ".service":
            tools.run(
                "systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", unit
            )


def check_nginx(tools: Tools, work: Path) -> None:
    """Let nginx read its configuration, with a certificate made for it."""
    for source in (DEPLOY / "nginx").iterdir():
        text = source.read_text().replace("/etc/nginx/conf.d/*.conf", str(work / "ojs.conf"))
        text = text.replace("server http:8000", "server 127.0.0.1:8000")
        text = text.replace("/run/nginx/", f"{work}/")
        (work / source.name).write_text(text.replace("/run/secrets/", f"{work}/"))
    tools.run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-subj", "/CN=localhost", "-keyout", work / "tls.key", "-out", work / "tls.crt",
    )  # fmt: skip
    tools.run("nginx", "-t", "-p", f"{work}/", "-c", work / "nginx.conf", "-e", "/dev/stderr")


def check_caddy(tools: Tools, _work: Path) -> None:
    """Let Caddy read its configuration and compare its format."""
    file = DEPLOY / "caddy" / "Caddyfile"
    tools.run("caddy", "validate", "--adapter", "caddyfile", "--config", file)
    if tools.run("caddy", "fmt", file) != file.read_text():
        raise Failed(f"caddy fmt --overwrite {file} changes the file")


def check_prometheus(tools: Tools, work: Path) -> None:
    """Check configurations and rules, and run the tests of the rules."""
    for source in PROMETHEUS.glob("*.yml"):
        text = source.read_text()
        if source.name.startswith("prometheus"):  # Debian's promtool does not know these members
            read = yaml.safe_load(text)
            for job in read["scrape_configs"]:
                for member in ("http_headers", "kubernetes_sd_configs"):
                    job.pop(member, None)
            text = yaml.safe_dump(read)
        (work / source.name).write_text(text)
    for config in work.glob("prometheus*.yml"):
        tools.run("promtool", "check", "config", config)
    tools.run("promtool", "test", "rules", work / "rules_test.yml")


def check_image(tools: Tools, work: Path) -> None:
    """Run the image's build steps on what git tracks, then its programs: they write nothing."""
    source, target = work / "source", work / "ojs"
    source.mkdir()
    archive = work / "source.tar"
    tools.run("git", "archive", "--output", archive, "HEAD")
    tools.run("tar", "--extract", "--file", archive, "--directory", source)
    script = source / "deploy" / "container" / "build.sh"
    tools.run("env", f"PYTHON={sys.executable}", script, source, target, folder=work)
    build = ("env", "OJS_BUILD=true", "PYTHONDONTWRITEBYTECODE=1", "HOME=/nonexistent")
    installed = set(target.rglob("*"))
    for command in (
        ("gunicorn", "--config", "python:ojs_project.gunicorn", "--check-config"),
        ("ojs-server", "runworker", "--help"),
        ("ojs-server", "qcluster", "--help"),
        ("ojs-server", "firststart", "--help"),
    ):
        tools.run(*build, target / "bin" / command[0], *command[1:], folder=work)
    if written := set(target.rglob("*")) - installed:
        raise Failed(f"the image's root cannot be read-only: {sorted(written)[:5]}")


# those that take longest first
CHECKS: Final[tuple[tuple[str, Callable[[Tools, Path], None]], ...]] = (
    ("git", check_image),
    ("promtool", check_prometheus),
    ("kubectl", check_kubernetes),
    ("yamllint", check_yaml),
    ("check-jsonschema", check_compose),
    ("systemd-analyze", check_systemd),
    ("nginx", check_nginx),
    ("caddy", check_caddy),
)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def label(tool: str, check: Callable[[Tools, Path], None]) -> str:
    """Return the name of a check."""
    return f"{check.__name__.removeprefix('check_')} ({tool})"


def result(tools: Tools, check: Callable[[Tools, Path], None]) -> tuple[str, float]:
    """Run a check in a folder of its own; return the problem, empty if none, and the seconds."""
    start = monotonic()
    with tempfile.TemporaryDirectory() as work:
        try:
            check(tools, Path(work))
        except Failed as problem:
            return str(problem), monotonic() - start
    return "", monotonic() - start


def main(folder: Path) -> int:
    """Run all checks; return the exit status."""
    tools, is_good = Tools(folder), True
    left_out = [label(tool, check) for tool, check in CHECKS if tools.lacks(tool)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {
            pool.submit(result, tools, check): label(tool, check)
            for tool, check in CHECKS
            if not tools.lacks(tool)
        }
        for one in as_completed(running):
            problem, seconds = one.result()
            is_good = is_good and not problem
            _say(f"{'FAILED' if problem else 'passed'}   {running[one]} {seconds:.1f} s")
            if problem:
                _say(problem)
    for name in left_out:
        _say(f"LEFT OUT {name}: the tool is missing")
    return not is_good


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
