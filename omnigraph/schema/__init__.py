"""The `.pg` schema language: text to catalog; pure functions on frozen values."""

from omnigraph.schema.compile import compile_schema

__all__ = ["compile_schema"]
