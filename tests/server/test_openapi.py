"""Openapi: the document says what the server does, whatever it is sent."""

from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from omnigraph.server.routes.openapi import openapi
from omnigraph.server.table import TABLE
from tests.server.samples import ROUTES
from tests.server.serving import TOKENS, Served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# What is made up for the other routes is refused long before it costs anything.
_EXAMPLES = 12
_document: dict[str, Any] = msgspec.json.decode(openapi(TABLE, has_tokens=True))
_schema = schemathesis.openapi.from_dict(_document)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_whatever_is_sent_the_answer_is_a_declared_one(served: Served, route: Any) -> None:
    operation = _schema[route.template][route.method]
    headers = {"Authorization": f"Bearer {TOKENS['owner']}"}

    takes_something = route.parts.path or route.fields is not None or route.query.__struct_fields__

    @settings(
        max_examples=_EXAMPLES if takes_something else 1,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        if route.name == "watch":  # else an answer that is right has no end
            case.query["follow"] = "false"
        answer = case.call(base_url=f"http://{served.address}", headers=headers)
        case.validate_response(answer, checks=CHECKS)

    send()
