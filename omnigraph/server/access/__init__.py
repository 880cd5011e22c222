"""Access: who asks, whether they may, and when it is their turn.

admission  who is worked for next; no actor can take the turns of the others
gate       who asks, and whether policy lets them, before anything of a body is read
incoming   what a client sends: its token, its query string, and its body, within limits
tokens     who a bearer token stands for; only the digests of tokens are kept
"""
