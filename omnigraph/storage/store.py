"""Store: where a graph is kept, by URI: its credentials and limits, and if commits are safe."""

import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote
from uuid import uuid4

from omnigraph.errors import StoreError
from omnigraph.frozen import dataclass
from omnigraph.storage import layout
from omnigraph.storage.objects import RETRIES, RETRY_SECONDS, WAITS, Objects
from omnigraph.storage.reach import make_folder, warn_if_open

_USE = "use a path or file://, s3://, gs:// or az://"
# How the variables of a cloud begin.
CLOUDS = ("AWS_", "GOOGLE_", "AZURE_")
CONNECT_SECONDS = "OMNIGRAPH_STORE_CONNECT_SECONDS"
REQUEST_SECONDS = "OMNIGRAPH_STORE_REQUEST_SECONDS"
RETRY_COUNT = "OMNIGRAPH_STORE_RETRIES"
_REQUESTS_PER_COMMIT = 4
_LONGEST_WAIT = 86_400.0
# What Lance and the clients of buckets drop: the rest of the address, or the letter itself.
_DROPPED = re.compile(r"[?#\x00-\x1f\x7f]")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_ENDPOINT, _ALLOW_HTTP = "aws_endpoint", "allow_http"
_S3_OPTIONS = {
    "aws_region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "aws_access_key_id": ("AWS_ACCESS_KEY_ID",),
    "aws_secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
    "aws_session_token": ("AWS_SESSION_TOKEN",),
    _ENDPOINT: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    _ALLOW_HTTP: ("AWS_ALLOW_HTTP",),
}
_GOOGLE_OPTIONS = {
    "google_service_account": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
    "google_service_account_key": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
    "google_application_credentials": ("GOOGLE_APPLICATION_CREDENTIALS",),
    "google_bearer_token": ("GOOGLE_BEARER_TOKEN",),
    "google_skip_signature": ("GOOGLE_SKIP_SIGNATURE",),
    "google_base_url": ("GOOGLE_BASE_URL",),
}
_AZURE_OPTIONS = {
    "azure_storage_account_name": ("AZURE_STORAGE_ACCOUNT_NAME",),
    "azure_storage_account_key": (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
    ),
    "azure_storage_client_id": ("AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"),
    "azure_storage_client_secret": ("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"),
    "azure_storage_tenant_id": (
        "AZURE_STORAGE_TENANT_ID",
        "AZURE_STORAGE_AUTHORITY_ID",
        "AZURE_TENANT_ID",
        "AZURE_AUTHORITY_ID",
    ),
    "azure_storage_authority_host": ("AZURE_STORAGE_AUTHORITY_HOST", "AZURE_AUTHORITY_HOST"),
    "azure_storage_sas_key": ("AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"),
    "azure_storage_token": ("AZURE_STORAGE_TOKEN",),
    "azure_credential_type": ("AZURE_CREDENTIAL_TYPE",),
    "azure_federated_token_file": ("AZURE_FEDERATED_TOKEN_FILE",),
    "azure_msi_endpoint": ("AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT"),
    "azure_object_id": ("AZURE_OBJECT_ID",),
    "azure_msi_resource_id": ("AZURE_MSI_RESOURCE_ID",),
    "azure_use_azure_cli": ("AZURE_USE_AZURE_CLI",),
    "azure_skip_signature": ("AZURE_SKIP_SIGNATURE",),
    "azure_storage_use_emulator": ("AZURE_STORAGE_USE_EMULATOR",),
    "azure_use_fabric_endpoint": ("AZURE_USE_FABRIC_ENDPOINT",),
    "azure_storage_endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
# Passed as options, because Lance keeps the login that the variables of a process gave it first.
_OPTIONS = {"s3": _S3_OPTIONS, "gs": _GOOGLE_OPTIONS, "az": _AZURE_OPTIONS}


@dataclass(frozen=True, slots=True)
class Store:
    """A root on a local disk or in a bucket, and the options with which it is reached.

    A graph can have variables of its own, which select who embeds its texts.
    """

    root: str
    is_local: bool
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    # A digest of the variables with which the clients of a bucket were configured.
    account: str = field(default="", repr=False, compare=False)

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of the graph; those of the process when it has none of its own."""
        return os.environ if self.environment is None else self.environment

    @property
    def objects(self) -> Objects:
        return Objects.at(self.root, self.is_local, dict(self.options), self.account)

    @property
    def commit_seconds(self) -> float:
        """Seconds that a commit to a bucket may take: a few times as long as one request."""
        milliseconds = self.options.get(WAITS[-1], "30000ms").removesuffix("ms")
        return _REQUESTS_PER_COMMIT * int(milliseconds) / 1000

    def uri(self, path: str) -> str:
        """Return the full address of a path below the root."""
        return f"{self.root}/{path}"

    def now(self) -> int:
        """Return the time in microseconds by the clock that says when files were written.

        How old something is follows from it: the clock of this machine may be wrong, or was. A file
        is written to see it. Buckets cut it to the second, in which this machine's is believed.
        """
        second = self.objects.stamp(layout.ASIDE)
        return min(max(time.time_ns() // 1_000, second), second + 1_000_000)

    def check(self) -> None:
        """Raise StoreError unless the store refuses to create what exists already."""
        if self.is_local:
            self._check_links()
        if not self.objects.honours_create(layout.ASIDE):
            raise StoreError(
                f"{self.root}: the store overwrites objects that should only be created",
                hint="commits need a store that honours If-None-Match on writes",
            )

    def _check_links(self) -> None:
        """Raise StoreError unless the file system has hard links, which Lance needs to commit."""
        folder = Path(self.root)
        probe, link = (folder / f".probe-{uuid4().hex}" for _ in range(2))
        try:
            make_folder(folder)
            probe.touch()
            warn_if_open(folder, probe)
            os.link(probe, link)
        except OSError as failed:
            reason = failed.strerror or type(failed).__name__
            raise StoreError(f"{self.root}: cannot be written with hard links: {reason}") from None
        finally:
            for path in (probe, link):
                with suppress(OSError):
                    path.unlink()


def store_at(uri: str | os.PathLike[str], environment: Mapping[str, str] | None = None) -> Store:
    """Return the store of a URI: a local path, `file://`, `s3://`, `gs://` or `az://`."""
    if not isinstance(uri, str | os.PathLike):
        raise StoreError(f"a graph is at a path or a URI, not at a {type(uri).__name__}")
    text = os.fspath(uri)
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme == "file":
        return Store(_without_links(local_path(text)), is_local=True)
    if scheme in ("http", "https"):
        hint = f"run it where the graph itself is, and {_USE}; in Python, connect reaches a server"
        raise StoreError(f"{text}: HTTP is not a store", hint=hint)
    if scheme not in _OPTIONS:
        raise StoreError(f"{text}: unknown kind of store '{scheme}'", hint=_USE)
    if not rest.partition("/")[0]:
        raise StoreError(f"{text}: the URI names no bucket", hint=f"write {scheme}://bucket/path")
    root = f"{scheme}://{rest.rstrip('/')}"
    _check_spelling(root)
    variables = os.environ if environment is None else environment
    options = _waits(variables) | _cloud_options(scheme, variables)
    return Store(root, is_local=False, options=options, account=_account())


def _account() -> str:
    """Return what differs when the variables of a cloud do, and tells nothing about them."""
    known = sorted(each for each in os.environ.items() if each[0].startswith(CLOUDS))
    return sha256(repr(known).encode()).hexdigest()


def local_path(text: str) -> str:
    """Return the absolute path that a path or a `file://` URI names, with its links."""
    _, separator, rest = text.partition("://")
    path = _path_of(text, rest) if separator else text
    if not path or "\0" in path:
        raise StoreError("the path of the graph is empty or holds a null character")
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError as failed:
        raise StoreError(f"{path}: {failed}") from None


def _without_links(path: str) -> str:
    """Return a path with its links resolved, so that a handle stays with the graph that it opened.

    When a link is changed, Lance follows it at once, and a client that is open does not.
    """
    try:
        return str(Path(path).resolve())
    except (RuntimeError, ValueError) as failed:  # links in a ring, or no file can be so called
        raise StoreError(f"{path}: {failed}") from None


def _path_of(uri: str, rest: str) -> str:
    host, _, path = rest.partition("/")
    if host not in ("", "localhost") or not path:
        raise StoreError(f"{uri}: a file URI names a path and no host", hint="write file:///path")
    return unquote(f"/{path}")


def _check_spelling(uri: str) -> None:
    """Raise StoreError for the address of a bucket that is not read by all in one way.

    Lance and the clients drop parts of it and decode others, each at another place. Then what is
    put to one object is looked for at another, and two spellings of a graph are two graphs.
    """
    scheme, _, rest = uri.partition("://")
    bucket, *folders = rest.split("/")
    dropped, escape = _DROPPED.search(rest), _ESCAPE.search(rest)
    if {"@", ":"} & {*bucket}:
        found, hint = "'@' or ':' in the name of the bucket", "a login belongs into the variables"
    elif dropped is not None:
        found, hint = repr(dropped[0]), "choose a name without it"
    elif escape is not None:
        found, hint = f"'{escape[0]}'", f"write the letters themselves: {unquote(uri)}"
    elif {"", ".", ".."} & {*folders}:
        found, hint = "an empty folder, '.' or '..'", "write the path from the bucket on"
    elif rest.endswith(" "):
        found, hint = "a space at its end", "choose a name without it"
    else:
        return
    # The address is not shown: a login or a signature may be part of it.
    raise StoreError(f"an address {scheme}:// cannot hold {found}", hint=hint)


def _waits(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the options for how long a request may take and how often it is retried."""
    connect = _number(variables, CONNECT_SECONDS, 5.0)
    request = _number(variables, REQUEST_SECONDS, 30.0)
    retries = _number(variables, RETRY_COUNT, 5.0)
    waits = (f"{max(round(each * 1000), 1)}ms" for each in (connect, request))
    return {
        **dict(zip(WAITS, waits, strict=True)),
        RETRIES: str(int(retries)),
        # No retry starts once a request has used up its full time limit.
        RETRY_SECONDS: str(max(math.ceil(request), 1)),
    }


def _number(variables: Mapping[str, str], name: str, usual: float) -> float:
    text = variables.get(name) or str(usual)
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found <= _LONGEST_WAIT:
        hint = f"give a number from 0 to {_LONGEST_WAIT:g}, or unset it"
        raise StoreError(f"{name} is '{text}'", hint=hint)
    return found


def _cloud_options(scheme: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the options that say where a cloud is and with which login it is asked."""
    options = {}
    for option, names in _OPTIONS[scheme].items():
        value = next((variables[name] for name in names if variables.get(name)), None)
        if value is not None:
            options[option] = value
    return _with_s3_server(options, variables) if scheme == "s3" else options


def _with_s3_server(options: dict[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    _check_endpoint(options, variables)
    forced = variables.get("AWS_S3_FORCE_PATH_STYLE", "").lower()
    if forced:
        options["aws_virtual_hosted_style_request"] = "false" if forced == "true" else "true"
    return options


def _check_endpoint(options: dict[str, str], variables: Mapping[str, str]) -> None:
    """Raise StoreError for a server address that no request could be sent to."""
    for name in _S3_OPTIONS[_ENDPOINT]:
        if not variables.get(name, "set").strip():
            hint = "unset it, or give the address of the server"
            raise StoreError(f"{name} is set, but empty", hint=hint)
    endpoint = options.get(_ENDPOINT)
    if endpoint is None:
        return
    scheme = endpoint.partition("://")[0].lower()
    if "://" not in endpoint or scheme not in ("http", "https"):
        raise StoreError(
            "the address of the S3 server does not begin with http:// or https://",
            hint="correct AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL",
        )
    allowed = options.get(_ALLOW_HTTP, "").lower() in ("true", "1")
    options[_ALLOW_HTTP] = str(allowed).lower()
    if scheme == "http" and not allowed:
        raise StoreError(
            "the S3 server is reached without encryption, which is not allowed",
            hint="set AWS_ALLOW_HTTP=true for a server that you trust, or give an https:// address",
        )
