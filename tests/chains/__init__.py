"""Chains: how many requests to a bucket follow one another in an operation.

recording    a proxy in front of an S3 server that notes each request and when it was under way
"""
