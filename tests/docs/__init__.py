"""The documentation runs: every example in it does what the page says."""
