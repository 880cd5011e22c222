"""Deploy: many graphs as one deployment, declared in files and recorded as immutable revisions.

definition   what a deployment consists of: graphs, stored queries, policies, providers
declaration  the file `cluster.yaml` and all that it names, read and checked together
revision     a definition as an immutable document that is named by its content
ledger       the revisions of a deployment in its storage, and which one serves
live         the graphs of a deployment as they are, with what they have and the revision has not
plan         what an apply would do, resource by resource, with its cost
apply        converges: graphs, schemas, then one flip of what serves
"""
