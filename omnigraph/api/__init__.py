"""Api: the handles that a user holds, over one backend for a graph at hand and one for a server.

graph       the handle on a graph, at hand or behind a server, that a user holds
closing     a handle that its `with` block closes
view        a graph at one commit; it can be read, and never changes
branch      a branch of a graph, read where it stands now; each change is one commit of it
log         the commits of a branch, newest first, read as they are used
algorithms  what the shape of a graph says of its nodes, one method for each algorithm
computed    the rows of an algorithm, which can become a property of nodes
queries     the stored queries of a branch or commit, each a function of its parameters
registry    the files of stored queries, read and checked together
keywords    a call refuses those that it does not take
texts       queries and schemas as a caller hands them over: a Path is a file, a str the text
operation   a request as a value: its fields, its route, and how its result travels
operations  every request that a graph takes, as values, one module for each family
budgets     what the work on a graph may take there, for all actors and for some of them
backend     what runs operations on a graph, in this process or through a server
local       operations run on a graph at hand, each on an `Access` that asks the policy first
access      what all handles of one graph share: its repository, its topology, its policy
http        runs operations through a server: each is sent as a request, its answer read back
client      plain requests to a server, with the errors that a graph at hand would raise
lines       whatever a user hands to a load, as JSON lines for a server
profile     how a read is run, before and after it was, for people and for programs
"""
