"""Load: any number of rows become one commit, or nothing.

options   the options of a load
inputs    turns whatever a user passes to a load into sources that tasks can read
rows      Python dicts, networkx graphs and plain JSON lines, as the records that a load reads
fields    the names under which sources may give the columns of a type
packing   how files are compressed, known by their first bytes, and their content
files     the files of a load, by path, glob or URI, from local disks and object stores
spool     stores what tasks cannot reach, standard input and frames, where they can
splits    cuts sources into parts that tasks read as typed rows
request   the digest of a load in its commit, which tells a repetition from another load
load      publishes any number of rows as one commit, or nothing
ingest    a load into a branch that is created with it when it does not exist
meet      the records of a load meet the rows of the same ids that exist already
aside     a folder of a graph's store for what a load keeps between its jobs
rules     the rules between rows that a load could break, and the columns that they read
keys      values that rows share or refer to, hashed into buckets so that equal ones meet
gathered  the values that rules compare, each once for many rows, in the buckets they meet in
replaced  the rows that others replace, kept by address and removed from their table by tasks
stage     reads one split, checks it row by row, and writes it as pieces of tables
records   turns lines of JSON into typed columns, and reports why a line is bad
tabular   rows of CSV, Parquet and Arrow files, one type per file, as typed columns
image     the tables that a load would leave: new versions where it wrote, pinned ones elsewhere
lookups   finds by index the rows that new ones could clash with, where that costs less
checks    the rules between rows, checked on the whole image by one shuffle of values
locate    finds the lines that hold values which break a rule between rows, and says why
loaded    what a load or an ingest did
"""
