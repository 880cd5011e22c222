"""Storage: tables and small objects on a local disk or an object store; all that knows Lance."""
