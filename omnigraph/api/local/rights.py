"""Rights: what the policy of a graph at hand lets its actor do."""

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions
from omnigraph.api.operations.rights import GetRights
from omnigraph.policy.rights import Rights, rights_of


def get_rights(access: Access, _: GetRights, __: CallOptions) -> Rights:
    """Return who acts, and what the policy lets them do."""
    access.repository.check_open()
    return rights_of(access.actor, access.policy)


FUNCTIONS: Functions = {GetRights: get_rights}
