"""Compare: how two snapshots differ, row by row.

row_change   one node or edge that was inserted, deleted or updated, and filters for changes
diff         the rows in which two snapshots differ, at a cost that grows with those rows
changes      the net changes between two snapshots, row by row, for people and programs
differences  changed rows as a table for pages and notebooks, with before, after and author
change_set   the net changes from one commit to another, read here or sent by a server
"""
