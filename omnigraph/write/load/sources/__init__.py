"""Sources: whatever a user passes to a load, cut into parts and read as typed rows.

inputs   turns whatever a user passes to a load into sources that tasks can read
rows     Python dicts, networkx graphs and plain JSON lines, as the records that a load reads
fields   the names under which sources may give the columns of a type
packing  how files are compressed, known by their first bytes, and their content
files    the files of a load, by path, glob or URI, from local disks and object stores
spool    stores what tasks cannot reach, standard input and frames, where they can
splits   cuts sources into parts that tasks read as typed rows
records  turns lines of JSON into typed columns, and reports why a line is bad
tabular  rows of CSV, Parquet and Arrow files, one type per file, as typed columns
"""
