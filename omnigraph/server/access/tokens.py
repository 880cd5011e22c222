"""Tokens: who a bearer token stands for; only the digests of tokens are kept."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from omnigraph.errors import ConfigError, UnavailableError, UnreadableError, hint_install
from omnigraph.frozen import dataclass
from omnigraph.versioning.notes import MOST_NAME_BYTES

AWS_SECRET = "OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET"  # noqa: S105 - the name of a variable
FILE = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
JSON = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
SINGLE = "OMNIGRAPH_SERVER_BEARER_TOKEN"
DEFAULT_ACTOR = "default"
_FEWEST_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Tokens:
    """The actor of each token, by the SHA-256 digest of the token."""

    actors: Mapping[bytes, str] = field(repr=False)

    def actor_of(self, token: bytes) -> str | None:
        """Return who a token stands for; it takes as long for every token."""
        given = hashlib.sha256(token).digest()
        found: str | None = None
        for digest, actor in self.actors.items():
            if hmac.compare_digest(digest, given):
                found = actor
        return found


@dataclass(frozen=True, slots=True)
class TokenSource:
    """Where tokens come from: a secret of AWS, a file, JSON, or a single one; or nowhere."""

    variable: str | None
    value: str = field(repr=False, default="")

    @property
    def is_given(self) -> bool:
        return self.variable is not None

    @property
    def can_change(self) -> bool:
        """Whether reading again can give something else."""
        return self.variable in (AWS_SECRET, FILE)

    def spent(self) -> "TokenSource":
        """Return the source without the tokens themselves, once they were read."""
        return self if self.can_change else TokenSource(self.variable)

    @property
    def path(self) -> Path | None:
        """The file that holds the tokens, if it is one."""
        return Path(self.value) if self.variable == FILE else None

    def read(self) -> Tokens:
        """Read the tokens; raises ConfigError or UnreadableError that never shows one."""
        if self.variable == SINGLE:
            return _tokens({DEFAULT_ACTOR: self.value}, SINGLE)
        text = self._text()
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise ConfigError(f"{self.variable}: the tokens are not JSON") from None
        if not isinstance(found, dict):
            hint = 'write {"actor": "token", …}'
            raise ConfigError(f"{self.variable}: the tokens are not a JSON object", hint=hint)
        return _tokens(found, self.variable or "")

    def _text(self) -> str:
        if self.variable == JSON:
            return self.value
        if self.variable == AWS_SECRET:
            return _aws_secret(self.value)
        try:
            if not Path(self.value).is_file():
                # A pipe would keep its reader waiting, and a device never ends.
                raise UnreadableError(f"cannot read the file of {FILE}: it is not a regular file")
            return Path(self.value).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as failed:
            reason = getattr(failed, "strerror", None) or "it is not UTF-8"
            raise UnreadableError(f"cannot read the file of {FILE}: {reason}") from None


def token_source(environment: Mapping[str, str]) -> TokenSource:
    """Return where the environment says that tokens come from; the first of the four counts."""
    for variable in (AWS_SECRET, FILE, JSON, SINGLE):
        if environment.get(variable):
            return TokenSource(variable, environment[variable])
    return TokenSource(None)


def _tokens(found: Mapping[object, object], variable: str) -> Tokens:
    actors: dict[bytes, str] = {}
    for actor, token in found.items():
        if not isinstance(actor, str) or not actor.strip() or not actor.isprintable():
            raise ConfigError(f"{variable}: an actor has no name that can be shown")
        if len(actor.encode()) > MOST_NAME_BYTES:
            message = f"{variable}: an actor's name is longer than {MOST_NAME_BYTES} bytes"
            raise ConfigError(message)
        if not isinstance(token, str) or len(token.strip()) < _FEWEST_CHARACTERS:
            raise ConfigError(
                f"{variable}: the token of '{actor}' has fewer than {_FEWEST_CHARACTERS} characters"
            )
        try:
            digest = hashlib.sha256(token.strip().encode()).digest()
        except UnicodeEncodeError:
            raise ConfigError(f"{variable}: the token of '{actor}' is invalid Unicode") from None
        if digest in actors:
            raise ConfigError(f"{variable}: '{actors[digest]}' and '{actor}' have the same token")
        actors[digest] = actor
    if not actors:
        raise ConfigError(f"{variable}: there is no token", hint='write {"actor": "token", …}')
    return Tokens(actors)


def _aws_secret(name: str) -> str:
    """Return the text of a secret of AWS Secrets Manager."""
    try:
        import boto3  # type: ignore[import-untyped]
    except ImportError:
        hint = hint_install("aws")
        raise UnavailableError(f"{AWS_SECRET} needs the package boto3", hint=hint) from None
    try:
        answer = boto3.client("secretsmanager").get_secret_value(SecretId=name)
        return str(answer["SecretString"])
    except Exception as failed:
        raise ConfigError(f"{AWS_SECRET}: AWS gave no secret ({type(failed).__name__})") from None
