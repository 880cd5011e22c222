"""Merge: how branches differ, how they join, and who changed what.

diff      which rows differ between two snapshots, and how; the cost grows with those rows
changes   what is different between two snapshots, row by row, for people and for programs
bases     where the sides of a merge crossed before, all their common ancestors have to agree
threeway  the rows of one type that both sides of a merge changed become one, or a conflict
rowmerge  one type of a merge, row by row: what changes for us, and what clashes
settle    where two sides break a rule together, rows become as the chosen side has them
merge     what one branch did since two parted is done to the other as well, or nothing is
bulk      the rows of one type that two sides changed, merged by tasks, a bucket of ids each
blame     which commit gave each property of a node or edge the value that it has
runs      changes made aside on a hidden branch, and then published at once or given up
"""
