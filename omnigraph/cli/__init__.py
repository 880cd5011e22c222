"""The command line `omnigraph`: one module for each family of commands."""
