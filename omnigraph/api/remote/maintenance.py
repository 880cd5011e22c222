"""Maintenance: what optimize, coverage, cleanup and fsck gave, read from what a server sends."""

import math
from datetime import timedelta

from omnigraph.api import wire
from omnigraph.api.wire import Document
from omnigraph.maintain.reports import (
    Checkup,
    Cleaned,
    CleanedTable,
    Coverage,
    Optimized,
    OptimizedTable,
)
from omnigraph.versioning.damage import Damage, Finding
from omnigraph.versioning.retention import duration


def age_of(given: timedelta | str) -> str:
    """Give a length of time as requests have it, in whole seconds and never shorter."""
    return f"{math.ceil(duration(given).total_seconds())}s"


def optimized_of(document: Document) -> Optimized:
    """Give what an optimize did."""
    named = document["commit"]
    return Optimized(
        branch=document["branch"],
        engine=document["engine"],
        tables=tuple(_optimized_table(each) for each in document["tables"]),
        commit=None if named is None else wire.commit_of(document["commits"][named]),
    )


def coverage_of(document: Document) -> Coverage:
    """Give how many rows are in one index."""
    return Coverage(
        table_key=document["table_key"],
        column=document["column"],
        kind=document["kind"],
        indexed=document["rows_indexed"],
        pending=document["rows_pending"],
        reason=document["reason"],
        recall=document.get("recall"),
    )


def cleaned_of(document: Document) -> Cleaned:
    """Give what a cleanup removed, or would remove."""
    tables, others = (
        tuple(CleanedTable(**each) for each in document[name]) for name in ("tables", "others")
    )
    return Cleaned(
        confirmed=document["confirmed"],
        commits_kept=document["commits_kept"],
        commits_cleaned=document["commits_cleaned"],
        tables=tables,
        others=others,
    )


def checkup_of(document: Document) -> Checkup:
    """Give what a check of the whole graph found."""
    return Checkup(
        rows=document["ledger_rows"],
        commits=document["commits"],
        versions=document["table_versions"],
        files=document["files"],
        findings=tuple(
            Finding(Damage(each["kind"]), each["where"], each["message"])
            for each in document["findings"]
        ),
    )


def _optimized_table(document: Document) -> OptimizedTable:
    indexes = tuple(coverage_of(each) for each in document["indexes"])
    return OptimizedTable(**{**document, "indexes": indexes})
