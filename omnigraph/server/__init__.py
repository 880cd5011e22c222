"""Server: the HTTP server `omnigraph-server`; each handler decodes, calls and encodes.

access       who asks, whether policy lets them, and whose turn it is
agents       what speaks MCP to the agents of a server; each request brings its own desk
answers      answers that are no document: large ones, and bytes
app          takes a request through the gate, its body and a turn to its handler, and answers
call         one request on its way, as a handler sees it, and the answers that it can give
config       the file `omnigraph.yaml`, read strictly into frozen values
feed         the changes of a branch as server-sent events, made while a client takes them
handlers     an operation is run and its result becomes an answer; most by `perform`
monitoring   what the server says of itself: lines of a log, figures, whether it answers
idempotency  answers to writes that carried a key, kept beside the graph for a repeat
limits       how much the server takes of a connection, a request and an actor
main         the `omnigraph-server` command
routes       endpoints as values, found by method and path, and as an OpenAPI document
protocol     HTTP on one connection, within limits of size and time that hold before any request
refusal      an answer that is no success: its status, its body, and nothing that is secret
serve        opens a graph and serves it until a signal says stop
studio       the page for a browser, and the code for which it gets its token
table        every route: those of all operations, and what the server tells of itself
process      the processes of a server: several on one address, and what each may open
site         the graphs that the server has, each with its policy, and what is told about them
deployed     the deployment that is served: its revision, and how a newer one takes its place
"""
