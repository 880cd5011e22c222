"""Server: the HTTP server `omnigraph-server`; each handler decodes, calls and encodes.

admission    who is worked for next; no actor can take the turns of the others
agents       what speaks MCP to the agents of a server; each request brings its own desk
answers      answers that are no document: large ones, and bytes
app          takes a request through the gate, its body and a turn to its handler, and answers
call         one request on its way, as a handler sees it, and the answers that it can give
config       the file `omnigraph.yaml`, read strictly into frozen values
feed         the changes of a branch as server-sent events, made while a client takes them
gate         who asks, and whether policy lets them, before anything of a body is read
handlers     an operation is run and its result becomes an answer; most by `perform`
health       whether the server at an address of this machine answers
idempotency  answers to writes that carried a key, kept beside the graph for a repeat
incoming     what a client sends: its token, its query string, and its body, within limits
limits       how much the server takes of a connection, a request and an actor
logs         one line of JSON for each thing that happened, with no token and no secret in it
main         the `omnigraph-server` command
metrics      what the server counts, as the text that Prometheus reads
openapi      the OpenAPI 3.1 document that the table of routes makes
protocol     HTTP on one connection, within limits of size and time that hold before any request
refusal      an answer that is no success: its status, its body, and nothing that is secret
route        an endpoint with its handler; router, gate, OpenAPI and tests are made from it
router       finds the route of a method and a path
serve        opens a graph and serves it until a signal says stop
studio       the page for a browser, and the code for which it gets its token
table        every route: those of all operations, and what the server tells of itself
tokens       who a bearer token stands for; only the digests of tokens are kept
process      the processes of a server: several on one address, and what each may open
site         the graphs that the server has, each with its policy, and what is told about them
deployed     the deployment that is served: its revision, and how a newer one takes its place
"""
