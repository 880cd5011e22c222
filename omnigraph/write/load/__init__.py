"""Load: any number of rows become one commit, or nothing.

keywords  those that loads, merges and new vectors take for who works, and how
options   the options of a load
sources   what a user passes to a load, cut into parts that are read as typed rows
request   the digest of a load in its commit, which tells a repetition from another load
load      publishes any number of rows as one commit, or nothing
ingest    a load into a branch that is created with it when it does not exist
meet      the records of a load meet the rows of the same ids that exist already
aside     a folder of a graph's store for what a load keeps between its jobs
rules     the rules between rows that a load could break, and the columns that they read
keys      values that rows share or refer to, hashed into buckets so that equal ones meet
gathered  the values that rules compare, each once for many rows, in the buckets they meet in
replaced  the rows that others replace, kept by address and removed from their table by tasks
order     edges in the order of their starts, which makes their files and indexes smaller
stage     reads one split, checks it row by row, and writes it as pieces of tables
image     the tables that a load would leave: new versions where it wrote, pinned ones elsewhere
lookups   finds by index the rows that new ones could clash with, where that costs less
checks    the rules between rows, checked on the whole image by one shuffle of values
locate    finds the lines that hold values which break a rule between rows, and says why
loaded    what a load or an ingest did
"""
