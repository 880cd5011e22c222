"""Cli: the command line `omnigraph`, one module for each family of commands.

address     where the graph of a command is, as its options and the configuration say together
commands    one module for each family of commands
completing  what a shell offers for the next word of a command: names, and kinds of files
following   rows are ingested as they come, each once, whatever happens in between
formats     the rows of a query as text: table, kv, csv, jsonl and json
layouts     files laid out in one way, in place or as a check, for the commands called `fmt`
main        the `omnigraph` command, its families, and how any failure ends it
names       the branches, tags and types of a graph for completion, kept until the graph changes
output      how results are shown
profiles    the servers and deployments of a person, by name, and the tokens for them
program     a process that is nothing but the command line, and what it leaves out for that
progress    a bar on stderr while long work runs, and nothing when stderr is no terminal
queries     the options with which a command says what to run, on which graph, and with what
session     the one place that decides which graph a command works on, as whom, and how it answers
spark       the options with which a command says where Spark runs
start       runs the command; Ctrl-C ends it in one way, also while it is imported
statements  where a statement of the shell ends, and which words can come next in it
terminal    reads statements from a person, with history and completion, or from a pipe
"""
