"""Cost: what the steps of a pattern take, in nanoseconds measured once.

Only their proportions matter: a wrong cost makes a query slower, never wrong.
"""

# Any operator; one that finds a node by its key takes no longer.
OPERATOR = 20_000.0
# A row that is read from a table and numbered.
READ = 400.0
# A row of a scan, conditions on however many rows or entries, and those on one of them.
ROW = 1.0
TESTS = 20_000.0
TEST = 12.0
# A row that edges are followed from, and an entry that is found, with the columns it carries along.
FOLLOW = 12.0
ENTRY = 14.0
# A row that leads to one node at most.
ONLY = 4.0
# Of counted targets: an entry of few rows, and one when whole arrays are summed.
COUNTED_ENTRY = 30.0
SUMMED_ENTRY = 2.5
# Testing whether two bound nodes are joined.
JOINED = 80.0
# A row that is grouped, sorted or shown in the end.
RESULT = 25.0
