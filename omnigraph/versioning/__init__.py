"""Versioning: many tables, one history: commits, branches, snapshots, all moved by one flip.

ulid             ids that sort by the time they were made, even within one millisecond
names            branch names: those reserved for the system, and those that a user may choose
notes            limits for what a user attaches to a change: actor, message and operation id
record_decoder   reads the texts that the manifest stores for commits and heads, strictly
commit           one commit as recorded, with the version of every table that it leaves
manifest         the table `__manifest`: what it keeps, how fresh it is, its format
heads            where branches stand: keys of the manifest, and rows for those long unmoved
snapshot         one commit with its catalog and tables, where every read and write starts
repository       one graph on a store: its tables, its manifest, its schemas and its clock
transact         the one road on which a change becomes a commit
turns            writers on one machine stand in line instead of racing
attempts         retry with back-off after losing a race, within a time limit
history          walks the graph of commits, finds one by part of its id, says which keep tables
operations       looks up what an operation id led to before, and refuses it for another request
writes           a change as data: the steps for each table, and staging them as unseen versions
publish          turns a staged change into a commit, for all tables at once, by one flip
unknown_outcome  reports failures after a change was made, without denying the change
once             makes what is made once, and denies nothing that was made when the store fails
branches         creates, moves and removes branch heads, each by one flip
tags             names for commits, each kept as a system branch that never moves
schema_lock      one schema change of a graph at a time, marked by a system branch
damage           the kinds of damage that a graph can have; their names are stable
audit            checks the rows of the manifest and the heads it holds
"""
