"""Manifest: the table of all commits and heads, what was read of it, and its format.

commit_cache  commits that were read, those used last kept longest
records       the rows of the manifest, and the commit that a row records
fresh         the newest commits, which are keys of the manifest until they are spilled
links         versions and parents of commits, which are read without the commits themselves
steps         what commits did to one table, read without the rest of their records
stretch       a part of a lineage, and the rows that its commits wrote, so that blame can skip it
manifest      the `__manifest` table: all commits, and the head of every branch
freshness     whether the manifest was read so recently that a guard on that version still holds
format        the format stamp of the manifest, and the steps that bring an old one up to date
"""
