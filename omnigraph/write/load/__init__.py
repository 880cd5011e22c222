"""Load: any number of rows become one commit, or nothing.

options  how a load is done
loaded   what a load or an ingest did
load     any number of rows become one commit, or nothing
ingest   a load into a branch that is made with it when it is not there
request  what stands for a load in its commit, so that a repetition is told from another one
inputs   whatever a user hands to a load, as sources that tasks can read
files    what a load reads, by path, glob or URI, from local disks and object stores
splits   what a load reads, cut into parts that tasks read as typed rows
spool    rows that no task can reach, standard input and frames, laid down where all can
records  lines of JSON become typed columns, and every bad line its exact reason
tabular  rows of CSV and Parquet files, one type to a file, as typed columns
stage    one split is read, checked row by row, and written as pieces of tables
image    the tables that a load would leave, new versions where it wrote and pinned ones else
keys     values that rows share or refer to, sent to buckets so that equal ones meet
checks   the rules between rows, on the whole image that a load would leave, by one shuffle
lookups  a small load finds by index the committed rows with which its own could clash
locate   finds the lines of the values that break a rule between rows, and says why
"""
