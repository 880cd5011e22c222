"""Versioning: many tables, one history: commits, branches, snapshots and the one flip.

ulid         ids that sort by the time they were made, also within one millisecond
names        those that the system uses itself, and those that a user may give to a new branch
commit       what is recorded of each change of a graph, and the tables it leaves behind
manifest     the ledger of all commits, and the head of every branch
format       the stamp of the ledger's shape, and the steps that bring an old one forward
snapshot     one commit with its catalog and tables; what every read and write starts from
repository   one graph on a store: its tables, its ledger, its schemas and its clock
writes       what a change does to each table, as data, and its staging into unseen versions
publish      makes a staged change a commit, for all tables at once, by one flip
attempts     how often something is tried again that others were faster with
history      walks the graph of commits; the cost grows with the distance, not with the history
branches     heads that are made, moved and removed by one flip each
tags         names for commits; each is a branch of the system's own that never moves
schema_lock  one change of a graph's schema at a time, told by a branch of the system's own
retention    which commits keep their tables when a graph is cleaned up
damage       what can be wrong with a graph, by kinds whose names are stable
audit        what is wrong with the rows of a ledger and with the heads that it holds
"""
