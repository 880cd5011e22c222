"""Router: finds the route of a method and a path."""

from collections.abc import Iterable, Mapping
from re import Pattern

from starlette.routing import compile_path

from omnigraph.server.refusal import Refusal
from omnigraph.server.routes.route import Route


class Router:
    """The routes of a table, in its order."""

    def __init__(self, table: Iterable[Route]) -> None:
        self._routes: list[tuple[Pattern[str], Route]] = [
            (compile_path(route.path)[0], route) for route in table
        ]

    def match(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """Return the route and the parameters in the path; a Refusal when there is none."""
        allowed: list[str] = []
        for pattern, route in self._routes:
            found = pattern.match(path)
            if found is None:
                continue
            if method == route.method or (method == "HEAD" and route.method == "GET"):
                return route, found.groupdict()
            allowed += ["GET", "HEAD"] if route.method == "GET" else [route.method]
        if not allowed:
            raise self._nothing_at(path)
        methods = ", ".join(dict.fromkeys(allowed))
        message = f"this path takes {methods}"
        raise Refusal(405, "method_not_allowed", message, {"Allow": methods})

    def _nothing_at(self, path: str) -> Refusal:
        if any(pattern.match(f"/graphs/NAME{path}") for pattern, _ in self._routes):
            message = "this server has its graphs at /graphs/NAME"
            hint = "use http://…/graphs/NAME; GET /graphs lists them"
            return Refusal(404, "no_route", message, detail={"hint": hint})
        return Refusal(404, "no_route", "there is nothing at this path; see /openapi.json")
