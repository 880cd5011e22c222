"""Api: the handles that a user holds, local and over HTTP.

graph    the handle on a graph that a user holds; it only delegates
view     a graph at one commit; it can be read, and never changes
branch   a branch of a graph, read where it stands now; each change is one commit of it
access   what all handles of one graph share: its repository, its topology, its policy
given    what callers hand over, as the engine takes it: texts and files, words, filters
profile  how a read is run, before and after it was, for people and for programs
client   plain requests to a server, with the errors that a graph at hand would raise
wire     results as the documents that a server sends, and the same results read from them
refused  the error that stands behind a server's answer, of the class that it had there
remote   the handles of a graph that a server has
"""
