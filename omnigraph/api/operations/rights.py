"""Rights: the operation that tells an actor what a policy lets it do."""

from omnigraph.api.operation import Audience, Endpoint, Operation, Shape
from omnigraph.policy.rights import Rights


class RightsShape(Shape, frozen=True, kw_only=True):
    """What an actor may do: on some branch, and on `main`; without a policy, everything.

    `message` says why nothing else is allowed, where no policy decided that, and `hint` what to do.
    """

    actor_id: str | None
    has_policy: bool
    actions: list[str]
    on_main: list[str]
    message: str | None
    hint: str | None


class GetRights(Operation[Rights], frozen=True, kw_only=True):
    """Return who asks, and what the policy lets them do."""

    endpoint = Endpoint(
        method="GET", path="/rights", name="rights", guard=Audience.ACTORS, answer=RightsShape
    )
    result_type = Rights


OPERATIONS = (GetRights,)
