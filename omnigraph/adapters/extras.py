"""Extras: which packages an adapter needs, and how to install them."""

from omnigraph.errors import UnavailableError


def missing_extra(extra: str, package: str) -> UnavailableError:
    """Return the error for an adapter whose framework is not installed."""
    hint = f"`pip install omnigraph[{extra}]`"
    return UnavailableError(f"the package {package} is not installed", hint=hint)
