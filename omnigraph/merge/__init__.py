"""Merge: how branches differ, how they are merged, and who changed what.

compare        how two snapshots differ, row by row: found, filtered, shown, sent
options        who merges, on what terms, and how tables of any size are merged
merge_plan     what the changes of one side mean for the other, before anything is written
merge          three-way merge of two branches, as one commit or not at all
lost           refuses a merge in which one side drops what the other side wrote
rowmerge       merges one type row by row: what changes for us, and what conflicts
threeway       combines rows of one type that both sides changed, or reports a conflict
vectors        lets each vector of a merged row go with the text that it was made from
bases          with several merge bases, applies what all of them agree on
virtual_base   merges several bases with each other first, row by row
bulk           merges the changed rows of one type in tasks, one bucket of ids each
stored_change  what a merge changes in one type, kept in files where tasks read it
patch          sets the values that were given for conflicts, which are neither ours nor theirs
settle         where the sides break a rule together, takes the rows of the chosen side
conflict       one row that two sides changed incompatibly, and the choices that resolve it
outcome        what a merge did or would do
blame          which commit set each property of a node or edge to its value
blamed         one property, its value, and the commit that set it
review         a branch as people look at it before it is merged, and what they say
runs           changes on a hidden branch, published together or discarded
run_record     one run: where it publishes to, where it writes, and how it ended
"""
