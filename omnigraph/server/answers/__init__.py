"""Answers: answers that are no document: large ones, and bytes.

begun  an answer that is too large to be made at once: what was made, and how to go on
blobs  the bytes of a Blob property as an answer, whole or a range of them
"""
