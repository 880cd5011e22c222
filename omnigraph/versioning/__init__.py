"""Versioning: many tables, one history: commits, branches, snapshots and the one flip."""
