"""Deployments: declared in files, recorded as revisions, served as one."""
