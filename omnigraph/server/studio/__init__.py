"""Studio: the page for a browser, and the code for which it gets its token.

handover  a one-time code for which a browser gets its token
page      the files of the page, its token, and what it may offer
"""
