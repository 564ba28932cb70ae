"""Which addresses may be called, and calling them: people type addresses, and some of them point inwards."""

from project.kit.outbound.addresses import BadAddress, check_address
from project.kit.outbound.connecting import GuardedConnector, LeadsInwards
from project.kit.outbound.names import leads_inwards
from project.kit.outbound.networks import is_public
from project.kit.outbound.posting import Answered, NotTaken, Posted, Unanswered, post
from project.kit.outbound.waits import retry_after

__all__ = [
    "Answered",
    "BadAddress",
    "GuardedConnector",
    "LeadsInwards",
    "NotTaken",
    "Posted",
    "Unanswered",
    "check_address",
    "is_public",
    "leads_inwards",
    "post",
    "retry_after",
]
