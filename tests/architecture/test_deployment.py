"""The recipes in deploy/ are pinned, run as nobody special, and name only what is there."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from omnigraph.server.access.tokens import FILE
from omnigraph.server.config import find_config
from omnigraph.server.main import omnigraph_server

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCRIPTS = [DEPLOY / "install", DEPLOY / "make-venv", *sorted((ROOT / "scripts").iterdir())]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def instructions() -> list[tuple[str, str]]:
    """The instructions of the container recipe, with lines that go on put together."""
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in kept]


def values_of(instruction: str) -> list[str]:
    return [value for name, value in instructions() if name == instruction]


def unit() -> dict[str, list[str]]:
    """The settings of the systemd unit; each may be given more than once."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "omnigraph-server.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            found.setdefault(line.partition("=")[0], []).append(line.partition("=")[2])
    return found


def pins(lock: str) -> dict[str, list[str]]:
    """What a lock pins, and the hashes of it."""
    blocks = re.split(r"(?m)^(?=\S)", (ROOT / lock).read_text())
    return {
        each.partition("\\")[0].strip(): re.findall(r"sha256:[0-9a-f]{64}", each)
        for each in blocks
        if each
    }


def test_the_base_image_is_named_by_a_digest_that_has_no_default() -> None:
    assert "PYTHON_DIGEST" in values_of("ARG")
    assert values_of("FROM") == [
        "${PYTHON_IMAGE}@${PYTHON_DIGEST} AS build",
        "${PYTHON_IMAGE}@${PYTHON_DIGEST}",
    ]
    image = next(each for each in values_of("ARG") if each.startswith("PYTHON_IMAGE="))
    assert ":" not in image.rpartition("/")[2], "a tag beside the digest would only look like a pin"


def test_the_container_runs_as_a_user_of_its_own() -> None:
    order = [name for name, _ in instructions()]
    assert values_of("USER") == ["10001:10001"]
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert "RUN" not in order[order.index("USER") :]


def test_the_container_is_asked_for_its_health_at_the_port_that_is_configured() -> None:
    [check] = values_of("HEALTHCHECK")
    assert check.endswith('CMD ["omnigraph-server", "--health", "5"]')
    assert "--health" in {option for each in omnigraph_server.params for option in each.opts}
    assert not re.search(r"\d{4}", check)


def test_what_reaches_the_build_of_the_container_is_what_it_copies() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    copied = [each.split()[:-1] for each in values_of("COPY") if not each.startswith("--from")]

    assert rules[0] == "*"
    let_in = sorted(rule[1:] for rule in rules if rule.startswith("!"))
    assert let_in == sorted(source for each in copied for source in each)
    assert all((ROOT / each).exists() for each in let_in)


def test_nothing_is_installed_without_its_hash() -> None:
    assert not [each for each in values_of("RUN") if "pip" in each and "make-venv" not in each]
    text = (DEPLOY / "make-venv").read_text().replace("\\\n", " ")
    commands = re.findall(r'"\$\S+/pip" (?:install|wheel) .*', text)
    assert len(commands) == 3
    for command in commands:
        assert "--require-hashes" in command or "--no-index --no-deps" in command
        assert "wheel --" not in command or "--no-build-isolation" in command


def test_images_of_the_compose_file_are_pinned_and_its_secrets_are_asked_for() -> None:
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

    assert "@${SEAWEEDFS_DIGEST:?" in services["s3"]["image"]
    assert services["make-graph"]["build"]["args"]["PYTHON_DIGEST"].startswith("${PYTHON_DIGEST:?")
    server = services["server"]
    assert server["environment"]["OMNIGRAPH_SERVER_BEARER_TOKEN"].startswith("${OMNIGRAPH_SERVER")
    assert (server["read_only"], server["cap_drop"]) == (True, ["ALL"])
    assert all("uid=10001" in each or "mode=1777" in each for each in server["tmpfs"])


def test_the_service_names_what_the_server_reads_and_what_is_installed() -> None:
    found = unit()
    variables = {option.envvar for option in omnigraph_server.params} | {FILE}
    given = dict(each.split("=", 1) for each in found["Environment"])
    installed = (DEPLOY / "install").read_text()

    assert set(given) <= variables
    for file in (*given.values(), *found["EnvironmentFile"]):
        assert file.startswith("/etc/omnigraph/")
        assert f'first "$config/{Path(file).name}" ' in installed
    assert found["User"] == found["Group"] == ["omnigraph"]
    assert re.search(r"useradd --system --user-group .* omnigraph$", installed, re.MULTILINE)
    assert found["ExecStart"] == ["/opt/omnigraph/bin/omnigraph-server"]
    assert found["ExecStartPost"] == ["/opt/omnigraph/bin/omnigraph-server --health 60"]


def test_secrets_of_the_service_are_readable_by_those_who_need_them_alone() -> None:
    installed = (DEPLOY / "install").read_text()
    modes = dict(re.findall(r'(?m)^first "\$config/(\S+)" (\d+ \w+)', installed))
    assert modes == {
        "environment": "0600 root",
        "omnigraph.yaml": "0640 omnigraph",
        "tokens.json": "0640 omnigraph",
    }


def test_the_first_configuration_of_the_service_is_one_that_the_server_takes(
    tmp_path: Path,
) -> None:
    installed = (DEPLOY / "install").read_text()
    written = re.search(r'omnigraph\.yaml" [^\n]*<<FILE\n(.*?)^FILE$', installed, re.DOTALL | re.M)
    assert written is not None
    path = tmp_path / "omnigraph.yaml"
    path.write_text(written[1].replace("$state", "/var/lib/omnigraph"))

    config = find_config(str(path), tmp_path)

    assert config is not None
    assert config.graph(config.server.graph or "").uri == "/var/lib/omnigraph/graph.omni"
    assert config.server.bind == "127.0.0.1:8080"


def test_the_service_may_do_no_more_than_it_needs() -> None:
    found = unit()
    on = [name for name, values in found.items() if values == ["yes"]]
    assert found["CapabilityBoundingSet"] == [""]
    assert found["ProtectSystem"] == ["strict"]
    assert found["SystemCallFilter"] == ["@system-service"]
    assert {"NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices"} <= set(on)
    assert "MemoryDenyWriteExecute" not in found, "Java compiles while it runs"


def test_systemd_takes_the_service_where_there_is_systemd(tmp_path: Path) -> None:
    verifier = shutil.which("systemd-analyze")
    program = shutil.which("true")
    text = (DEPLOY / "omnigraph-server.service").read_text()
    copy = tmp_path / "omnigraph-server.service"
    copy.write_text(text.replace("/opt/omnigraph/bin/omnigraph-server", str(program)))
    if verifier is not None:
        done = subprocess.run(
            [verifier, "verify", str(copy)], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_parses_stops_at_the_first_error_and_can_be_run(script: Path) -> None:
    for shell in ("sh", "bash"):
        subprocess.run([shell, "-n", str(script)], check=True, timeout=60)
    text = script.read_text()
    assert text.startswith("#!/bin/sh\n#")
    assert re.search(r"(?m)^set -eu$", text)
    assert script.stat().st_mode & 0o111 == 0o111


def test_an_environment_is_never_made_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    done = subprocess.run(
        [DEPLOY / "make-venv", tmp_path / "kept"], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, [*tmp_path.iterdir()]) == (1, [tmp_path / "kept"])
    assert b"exists already" in done.stderr


@pytest.mark.parametrize("lock", ["requirements-runtime.lock", "requirements-build.lock"])
def test_the_smaller_locks_pin_what_the_tests_run_with(lock: str) -> None:
    tested = pins("requirements.lock")
    found = pins(lock)
    assert all(found.values())
    assert {each: tested.get(each) for each in found} == found


def test_every_declared_dependency_has_an_upper_bound() -> None:
    project = PROJECT["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    declared = [*project["dependencies"], *extras, *PROJECT["build-system"]["requires"]]
    unbounded = [
        each
        for each in declared
        if not any(bound.operator in ("<", "<=", "==") for bound in Requirement(each).specifier)
    ]
    assert unbounded == []
