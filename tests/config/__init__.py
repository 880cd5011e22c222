"""The file omnigraph.yaml."""
