"""Causes: why a store refused or did not answer, from what its client says, and what to do."""

import re

NO_BUCKET = "NoSuchBucket"

# S3 answers with a document; only these two parts of it are shown, because others repeat what was
# signed and with which key.
_CODE = re.compile(r"<Code>\s*([A-Za-z0-9.]{1,100})\s*</Code>")
_MESSAGE = re.compile(r"<Message>\s*([^<]{1,1000}?)\s*</Message>", re.DOTALL)
_SYSTEM = re.compile(r'message: "([^"]{1,200})"|error: "([^"]{1,200})"')
_TIMEOUT = re.compile(r"kind: Timeout|operation timed out|TimedOut")
_LONGEST = 300
_STATUS = re.compile(r"(?:status code: |status: )(\d{3})\b")

_KEY = "check AWS_ACCESS_KEY_ID"
_HINTS = {
    "InvalidAccessKeyId": _KEY,
    "SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "RequestTimeTooSkewed": "set the clock of this machine",
    "ExpiredToken": "get a new AWS_SESSION_TOKEN",
    "InvalidToken": "check AWS_SESSION_TOKEN",
    "AccessDenied": "the key may not do this; check its rights to the bucket",
    "AuthorizationHeaderMalformed": "check AWS_REGION",
    "PermanentRedirect": "check AWS_REGION and AWS_ENDPOINT_URL_S3",
    NO_BUCKET: "make the bucket, or correct its name",
}
NO_ANSWER = "OMNIGRAPH_STORE_REQUEST_SECONDS says how long an answer is waited for"
_AWAY = "check that the store runs, and AWS_ENDPOINT_URL_S3"
# Where a key is asked for that no variable has: the service of a machine of AWS that has a role.
_ROLES = "://169.254.169.254/"
_NO_KEY = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; they are not both set"
_DENIED = "check the key, its secret and its rights to the bucket"


def code_of(text: str) -> str | None:
    """Return the error code in a store's refusal, if it sent one."""
    found = _CODE.search(text)
    return None if found is None else found[1]


def cause_of(text: str) -> str | None:
    """Return the cause in a few words without anything of the request: `403 AccessDenied`."""
    status, code = _STATUS.search(text), code_of(text)
    if status is not None or code is not None:
        return " ".join(filter(None, (None if status is None else status[1], code)))
    return _unanswered(text)


def _unanswered(text: str) -> str | None:
    """Return why there was no answer at all, if there was none."""
    if _TIMEOUT.search(text):
        return "no answer in time"
    if "kind: Connect" in text:
        found = _SYSTEM.search(text)
        return "no connection" if found is None else (found[1] or found[2])
    return "the connection was lost" if "kind: Request" in text else None


def reason_of(text: str) -> str | None:
    """Return why a request failed, in the words of the store or of this machine."""
    code = code_of(text)
    if code is not None:
        message = _MESSAGE.search(text)
        said = "" if message is None else f": {' '.join(message[1].split())}"
        return f"{code}{said}"[:_LONGEST]
    return _unanswered(text)


def hint_of(text: str) -> str | None:
    """Return what to do about a request that failed."""
    code = code_of(text)
    if code is not None:
        return _HINTS.get(code)
    if _ROLES in text:
        return _NO_KEY
    if _TIMEOUT.search(text):
        return NO_ANSWER
    if "kind: Connect" in text:
        return _AWAY
    status = _STATUS.search(text)
    return _DENIED if status is not None and status[1] in ("401", "403") else None
