"""Merge: how branches differ, how they are merged, and who changed what.

row_change     one node or edge that was inserted, deleted or updated, and filters for changes
diff           the rows in which two snapshots differ, at a cost that grows with those rows
changes        the net changes between two snapshots, row by row, for people and programs
differences    changed rows as a table for pages and notebooks, with before, after and author
change_set     the net changes from one commit to another, read here or sent by a server
merge          three-way merge of two branches, as one commit or not at all
lost           refuses a merge in which one side drops what the other side wrote
rowmerge       merges one type row by row: what changes for us, and what conflicts
threeway       combines rows of one type that both sides changed, or reports a conflict
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
review_page    what a branch would bring to another, counted by type and a page at a time
reviews        what was said about a branch, kept beside the graph and never in its history
review_record  what people said about a branch before it is merged, and what they decided
runs           changes on a hidden branch, published together or discarded
run_record     one run: where it publishes to, where it writes, and how it ended
"""
