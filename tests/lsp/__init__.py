"""The language server, as editors speak with it."""
