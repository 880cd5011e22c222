"""Outcomes: how what an actor does to the model can end, other than well."""


class Refused(Exception):
    """A definite error: nothing was changed."""


class Unknown(Exception):
    """The outcome is not known, and the caller is told so."""


class Rejected(Exception):
    """The manifest did not take a change, because another one of the same keys came first."""


class Moved(Exception):
    """A table is not at the version that was read; the change has to be made again."""


class NoReply(Exception):
    """The store gave no reply."""
