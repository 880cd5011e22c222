"""Maintain: keeps a graph small, indexed and sound.

keywords   those that `optimize`, `backup` and `restore` take
optimize   joins small fragments and completes the indexes of a branch, as one physical commit
coverage   how many rows each index covers, and why not all
cleanup    removes the tables of commits that are not kept, and what crashed writers left
scope      the branches and types that a cleanup or a check is limited to
fsck       checks every part of a graph and reports all damage, without changing anything
row_audit  reads the rows of many versions of tables, each stored row once
backup     copies a live graph to another place consistently, and restores such a copy
reports    what coverage, optimize, cleanup, fsck and backups found or did
"""
