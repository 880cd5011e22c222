"""Chains: how many requests to a bucket follow one another in an operation."""
