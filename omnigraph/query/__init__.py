"""The `.gq` query language: text to plan; pure functions on frozen values."""

from omnigraph.query.compile import compile_queries, compile_query

__all__ = ["compile_queries", "compile_query"]
