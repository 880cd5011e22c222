"""Extras: which packages an adapter needs, and how to install them."""

from omnigraph.errors import UnavailableError, hint_install


def missing_extra(extra: str, package: str) -> UnavailableError:
    """Return the error for an adapter whose framework is not installed."""
    return UnavailableError(f"the package {package} is not installed", hint=hint_install(extra))
