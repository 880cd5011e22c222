"""Storage: tables and small objects on a local disk or an object store; all that knows Lance.

store       one place to keep a graph, by URI: how it is reached, and whether it can be trusted
layout      where everything of a graph lies below its root
objects     small whole files below a root, created only where nothing is yet
folder      an empty place, on a local disk or in a bucket, that many processes write files to
copying     files from one store to another, a few at a time, each there whole or not at all
table       immutable versions of Lance tables; a change makes a new version that nobody sees yet
forward     the newest version of a table that moves forward, and whether it is still that table
staging     a version of a table made of pieces that many processes write and index
reading     rows of one version of a table by address and by value
delta       which rows differ between two versions of a table, told by their fragments
indexes     which a table has, and how new fragments get into them
fold        rewrites small and half-deleted fragments, so that a table stays quick as it grows
compaction  which fragments of a table are written anew as few large ones, and how
evolve      versions of a table whose columns have other names, or which has more columns
texts       finds rows by words, in the text index of a table or in one that is made in memory
nearest     finds rows by vectors in the index of a table, and tells how many it finds
sweep       which files of the tables no version needs, told from a listing and the versions
inspect     the files that a version of a table should be made of, against those that are there
durable     makes files of a local disk survive a loss of power
failures    turns what Lance and the object store raise into errors of our own
causes      why a store refused or did not answer, from what its client says, and what to do
waiting     runs what may wait for a store, and gives up when its time is over
steps       names each moment at which something became durable, so that a test can cut there
"""
