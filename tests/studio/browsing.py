"""Browsing: a real Chromium, and pages whose every mistake fails the test."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, expect

import omnigraph

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "studio/screens"
AXE = ROOT / "studio/node_modules/axe-core/axe.min.js"
BUILT = Path(omnigraph.__file__).parent / "studio/index.html"
# The machine may stall; what is wrong fails at once all the same.
DEADLINE = 90_000
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
# What the browser itself says about answers that the page handles.
_EXPECTED = ("Failed to load resource",)


def lack(what: str) -> NoReturn:
    """Skip the test for what is not there; where changes are checked for all, fail it."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


def launch(playwright: Playwright) -> Browser:
    """Start the Chromium of this machine, or that of Playwright."""
    own = Path(playwright.chromium.executable_path)
    program = next(filter(None, map(shutil.which, _NAMES)), str(own) if own.exists() else None)
    if program is None:
        lack("no Chromium: install it, or run `python -m playwright install chromium`")
    if not BUILT.exists():
        lack("the page is not built: run `make studio`")
    expect.set_options(timeout=DEADLINE)
    return playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS])


@dataclass(slots=True)
class Watch:
    """What went wrong on a page, and where it sent requests."""

    origin: str
    problems: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        """Note mistakes of a page from now on."""
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        # Playwright notes something on the owner of a method, which has slots.
        page.on("console", lambda message: self._said(message))  # noqa: PLW0108
        page.on("request", lambda request: self._sent(request.url))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_EXPECTED):
            self.problems.append(message.text)

    def _sent(self, address: str) -> None:
        self.addresses.append(address)
        if not address.startswith((f"{self.origin}/", "blob:", "data:")):
            self.problems.append(f"a request left the server: {address}")


@contextmanager
def browsing(
    browser: Browser,
    origin: str,
    *,
    token: str | None = None,
    width: int = 1440,
    height: int = 900,
    **options: Any,
) -> Iterator[tuple[Page, Watch]]:
    """Open a page for an actor; when the block ends, nothing may have gone wrong on it."""
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": height}, **options
    )
    context.set_default_timeout(DEADLINE)
    watch = Watch(origin)
    try:
        page = context.new_page()
        watch.listen(page)
        page.add_init_script(
            "addEventListener('securitypolicyviolation',"
            " (event) => console.error('CSP', event.violatedDirective, event.blockedURI))"
        )
        if token is not None:
            page.add_init_script(
                f"sessionStorage.getItem('omnigraph.token')"
                f" ?? sessionStorage.setItem('omnigraph.token', '{token}')"
            )
        yield page, watch
        assert watch.problems == []
    finally:
        context.close()


def settle(page: Page) -> None:
    """Wait until nothing on the page is on its way."""
    expect(page.locator("main[aria-busy=false]")).to_be_visible()
    expect(page.locator(".bones")).to_have_count(0)


def serious_findings(page: Page) -> list[str]:
    """Return what axe finds that keeps people out."""
    if not AXE.exists():
        lack("axe is not installed: run `make studio`")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
