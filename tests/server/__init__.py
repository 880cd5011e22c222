"""The HTTP server: every route, the gate, the limits, and what lasts when it dies."""
