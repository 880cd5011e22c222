"""Policy: who may do what on which branches, as rules that Cedar decides."""
