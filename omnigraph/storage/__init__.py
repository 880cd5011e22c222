"""Storage: tables and small objects on a local disk or an object store; all that knows Lance.

store      where a graph is kept, by URI: its credentials and limits, and if commits are safe
layout     the paths of everything that a graph keeps below its root
objects    small files below a root, written whole and on request only if there is none yet
folder     an empty folder, on a local disk or in a bucket, that many processes write files to
copying    copies files from one store to another, a few at a time, each whole or not at all
near       small changes of a table in a bucket, made on this machine and sent in one go
fragments  the files of which a version of a table consists
table      one version of a Lance table; every change makes another one, which nobody sees yet
tables     all tables of one store, created, opened and moved forward
forward    the newest version of a moving table, and whether it is still the same table
staging    versions of a table assembled from pieces that many processes write and index
reading    rows of one version of a table, by address and by condition
finding    rows by words, by vector, and by what two versions of a table differ in
indexes    the indexes that a table has, and how they are extended to new fragments
fold       picks small and half-deleted fragments to rewrite, so that a growing table stays quick
upkeep     rewrites fragments, and compares the files there are with those versions need
evolve     versions of a table with columns arranged anew or added, and without some indexes
durable    flushes files on a local disk, so that they survive a power loss
reach      keeps files that every user of the machine could change where only some can get at them
failures   turns what Lance and the object store raise into errors of our own
causes     why a store refused or did not answer, from what its client says, and what to do
waiting    runs work that waits for a store up to a limit, and none in a process that was forked
steps      names each moment at which something became durable, so that a test can cut there
"""
