"""Upkeep: fragments rewritten, files that nothing needs, and files that are missing.

compaction  rewrites many fragments of a table as few large ones
sweep       the files that no version of a table needs, from a listing and the versions
inspect     compares the files that a version should have with those that exist
"""
