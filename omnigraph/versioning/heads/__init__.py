"""Heads: where branches stand: keys of the manifest, and rows of it for those long unmoved.

head    where one branch stands, and the text that the manifest stores for it
layers  heads as rows of the manifest, layer by layer, and what the next layer has
"""
