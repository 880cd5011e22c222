"""Routes: endpoints as values, found by method and path, and told as OpenAPI.

openapi  the OpenAPI 3.1 document that the table of routes makes
route    an endpoint with its handler; router, gate, OpenAPI and tests are made from it
router   finds the route of a method and a path
"""
