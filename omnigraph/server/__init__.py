"""The HTTP server `omnigraph-server`."""
