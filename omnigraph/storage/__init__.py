"""Storage: tables and small objects on a local disk or an object store; all that knows Lance.

store       where a graph is kept, by URI: its credentials and limits, and if commits are safe
layout      the paths of everything that a graph keeps below its root
objects     small files below a root, written whole and on request only if there is none yet
folder      an empty folder, on a local disk or in a bucket, that many processes write files to
copying     copies files from one store to another, a few at a time, each whole or not at all
near        small changes of a table in a bucket, made on this machine and sent in one go
table       immutable versions of Lance tables; every change makes a version that nobody sees yet
forward     the newest version of a moving table, and whether it is still the same table
staging     versions of a table assembled from pieces that many processes write and index
reading     rows of one version of a table, by address and by condition
delta       the rows in which two versions of a table differ, found from their fragments
row_place   where a version stores a row, and where the version before it stored the row
indexes     the indexes that a table has, and how they are extended to new fragments
fold        picks small and half-deleted fragments to rewrite, so that a growing table stays quick
compaction  rewrites many fragments of a table as few large ones
evolve      versions of a table with columns renamed or added
texts       finds rows by words, in the text index of a table or in one made in memory
nearest     finds rows by vector in the index of a table, and measures its recall
sweep       the files that no version of a table needs, from a listing and the versions
inspect     compares the files that a version should have with those that exist
durable     flushes files on a local disk, so that they survive a power loss
reach       keeps files that every user of the machine could change where only some can get at them
failures    turns what Lance and the object store raise into errors of our own
causes      why a store refused or did not answer, from what its client says, and what to do
waiting     runs work that waits for a store, and gives up after a time limit
steps       names each moment at which something became durable, so that a test can cut there
"""
