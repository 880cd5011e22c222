"""Stores: real S3 servers on this machine, and the lanes on which the promises are kept."""

import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

import obstore
import pytest
from obstore.store import S3Store

from tests.standin import Bucket, running

BUCKET = "graphs"
LANES = ("local", "moto", "seaweedfs")
_KEY, _SECRET, _REGION = "omnigraph", "omnigraph-secret", "us-east-1"
_LONGEST_START = 60.0


@dataclass(frozen=True, slots=True)
class Lane:
    """A fresh place for a graph; the variables that reach it are set in the environment."""

    name: str
    root: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        return self.name == "local"

    def rounds(self, most: int) -> int:
        """Return the number of repetitions: all on a local disk, fewer on a server."""
        return most if self.is_local else max(2, most // 10)

    def skip_second_opinion(self) -> None:
        """Leave a costly test to the local disk and to the real server."""
        if self.name == "moto":
            pytest.skip("moto is the quick second opinion")


def s3_environment(address: str) -> dict[str, str]:
    """Return the variables with which an S3 server is reached."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": _KEY,
        "AWS_SECRET_ACCESS_KEY": _SECRET,
        "AWS_REGION": _REGION,
        "AWS_ALLOW_HTTP": "true",
        "AWS_S3_FORCE_PATH_STYLE": "true",
    }


@pytest.fixture(params=LANES)
def lane(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lane]:
    """Return a fresh place on the local disk, on moto and on SeaweedFS."""
    if request.param == "local":
        yield Lane("local", str(tmp_path / "graph"))
        return
    yield s3_lane(request.param, request.getfixturevalue(request.param), monkeypatch)


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """Serve S3 with moto; gives its address."""
    from moto import backends
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    services = tuple(backends.list_of_moto_modules())
    server = ThreadedMotoServer("127.0.0.1", _free_ports(1)[0], verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        # Moto lists its own folders twice for each request, a third of the time it takes.
        patch.setattr(backends, "list_of_moto_modules", lambda: services)
        server.start()
        host, port = server.get_host_and_port()
        _request("PUT", f"http://{host}:{port}/{BUCKET}")
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture(scope="session")
def seaweedfs() -> Iterator[str]:
    """Serve S3 with SeaweedFS; gives its address."""
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket() -> Bucket:
    """Return what the stand-in server holds; a test may set how it misbehaves."""
    return Bucket()


@pytest.fixture
def standin(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lane]:
    """Return a fresh place on the stand-in server."""
    with running(bucket) as address:
        yield s3_lane("standin", address, monkeypatch)


def s3_lane(name: str, address: str, monkeypatch: pytest.MonkeyPatch) -> Lane:
    """Return a fresh place on an S3 server, which the environment leads to."""
    environment = s3_environment(address)
    for variable in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    return Lane(name, f"s3://{BUCKET}/{uuid4().hex}/graph", environment)


@contextmanager
def s3_server() -> Iterator[str]:
    """Run SeaweedFS with an empty bucket; gives its address."""
    folder = Path(tempfile.mkdtemp(prefix="seaweedfs-"))
    ports = _free_ports(8)
    with (folder / "output").open("wb") as output:
        server = subprocess.Popen(
            _command(folder, ports), stdout=output, stderr=output, cwd=folder, close_fds=True
        )
    try:
        master, _, _, _, filer, _, s3, _ = (f"http://127.0.0.1:{port}" for port in ports)
        steps = [
            lambda: _request("GET", f"{master}/dir/assign?collection={BUCKET}"),
            lambda: _request("POST", f"{filer}/buckets/{BUCKET}/"),
            lambda: _write_once(s3),
        ]
        _until_ready(server, folder, steps)
        yield s3
    finally:
        server.kill()
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
        for port in ports:
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)


def _command(folder: Path, ports: list[int]) -> list[str]:
    """Return the command: one process for all parts, on this machine alone, and few words."""
    identity = {
        "name": _KEY,
        "credentials": [{"accessKey": _KEY, "secretKey": _SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    names = ("master", "master.grpc", "volume", "volume.grpc", "filer", "filer.grpc", "s3")
    flags = dict(zip((*names, "s3.grpc"), ports, strict=True))
    return [
        str(Path(sys.executable).with_name("weed")),
        *("-v=-1", f"-logdir={folder}", "server", f"-dir={folder}"),
        *("-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *("-master.electionTimeout=1s", "-master.heartbeatInterval=100ms"),
        *("-master.volumeSizeLimitMB=64", "-master.telemetry=false", "-volume.max=50"),
        *("-s3", f"-s3.config={config}", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *(f"-{_flag(name)}={port}" for name, port in flags.items()),
    ]


def _flag(name: str) -> str:
    part, _, kind = name.partition(".")
    return f"{part}.port.{kind}" if kind else f"{part}.port"


def _until_ready(
    server: subprocess.Popen[bytes], folder: Path, steps: list[Callable[[], None]]
) -> None:
    """Wait until there is room, the bucket is made, and it takes an object."""
    end = time.monotonic() + _LONGEST_START
    while steps:
        try:
            steps[0]()
            steps.pop(0)
        except (OSError, obstore.exceptions.BaseError) as failed:
            if server.poll() is not None or time.monotonic() > end:
                said = (folder / "output").read_text(errors="replace")
                raise AssertionError(f"SeaweedFS did not start: {said}") from failed
            time.sleep(0.05)


def _write_once(address: str) -> None:
    store = S3Store(
        BUCKET,
        endpoint=address,
        access_key_id=_KEY,
        secret_access_key=_SECRET,
        region=_REGION,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    obstore.put(store, "ready", b"yes")


def _request(method: str, address: str) -> None:
    with urlopen(Request(address, method=method), timeout=5) as answer:
        answer.read()


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody uses; all are held until the last is found, so that none repeats."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
