"""Versioning: many tables, one history: commits, branches, snapshots and the one flip.

ulid         ids that sort by the time they were made, also within one millisecond
names        those that the system uses itself, and those that a user may give to a new branch
commit       what is recorded of each change of a graph, and the tables it leaves behind
manifest     the ledger of all commits, and the head of every branch
freshness    whether the ledger was read so lately that a guard on that version still holds
format       the stamp of the ledger's shape, and the steps that bring an old one forward
snapshot     one commit with its catalog and tables; what every read and write starts from
repository   one graph on a store: its tables, its ledger, its schemas and its clock
writes       what a change does to each table, as data, and its staging into unseen versions
operations   finds what an operation id led to before, and refuses it for another request
publish      makes a staged change a commit, for all tables at once, by one flip
attempts     retry with back-off after losing a race, for a while
turn         writers of one branch on one machine take turns, so that they do not race each other
aftermath    what fails once a change is made never says that the change was not made
transact     the one road on which a change becomes a commit
history      walks the graph of commits; the cost grows with the distance, not with the history
branches     heads that are made, moved and removed by one flip each
tags         names for commits; each is a branch of the system's own that never moves
schema_lock  one change of a graph's schema at a time, told by a branch of the system's own
retention    which commits keep their tables when a graph is cleaned up
damage       what can be wrong with a graph, by kinds whose names are stable
audit        what is wrong with the rows of a ledger and with the heads that it holds
notes        what may stand beside a change: who made it, why, and the id of its operation
"""
