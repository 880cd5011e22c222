"""Near: small changes of a table in a bucket, made on this machine and sent in one go.

sending    objects put into a bucket and read from it, many at the same time
workbench  a folder of this machine in which versions of a table in a bucket are made
"""
