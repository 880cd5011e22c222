"""Merge: how branches differ, how they join, and who changed what.

row_change  a node or edge that came, went or changed, and which changes are of interest
diff        which rows differ between two snapshots, and how; the cost grows with those rows
changes     what is different between two snapshots, row by row, for people and for programs
change_set  the net changes from one commit to another, read here or sent by a server
virtual_base  where the sides crossed before, their bases are merged first, row by row
bases       where the sides of a merge crossed before, all their common ancestors have to agree
conflict    a row that two sides changed in ways that exclude each other, and who wins
threeway    the rows of one type that both sides of a merge changed become one, or a conflict
rowmerge    one type of a merge, row by row: what changes for us, and what clashes
settle      where two sides break a rule together, rows become as the chosen side has them
outcome     what a merge did or would do
merge       what one branch did since two parted is done to the other as well, or nothing is
bulk        the rows of one type that two sides changed, merged by tasks, a bucket of ids each
blamed      a property, its value, and the commit that set it
blame       which commit gave each property of a node or edge the value that it has
run_record  where a run publishes to, where it writes meanwhile, and how it ended
runs        changes made aside on a hidden branch, and then published at once or given up
"""
