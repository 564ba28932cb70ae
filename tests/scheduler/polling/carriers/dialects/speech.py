"""What is common to the dialects: the simulated carrier's answers, put into other words."""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from scheduler.polling.carriers.base import CardRef
from scheduler.polling.carriers.simulator import AccountPlan, Dialect
from scheduler.polling.carriers.simulator.accounts import PREFIX_DIGITS
from scheduler.polling.carriers.simulator.cards import SimulatedCard, card_of
from scheduler.polling.carriers.simulator.carrier import Asked
from scheduler.polling.carriers.simulator.replies import Reply
from tests.scheduler.polling.carriers.scripted import Asked as Request
from tests.scheduler.polling.carriers.scripted import reply

# The card of all scripted answers.
CARD = CardRef(1, "89882280666000000006", "8822851000001", "901405100000018")


class Translation(Dialect):
    """Writes the simulated carrier's answers in other words. What is broken, hangs or is no JSON stays as it is."""

    refusals: ClassVar[Mapping[str, tuple[int, Any]]]

    @abstractmethod
    def done(self, asked: Asked, data: Mapping[str, Any]) -> tuple[int, Any]:
        """Return status and document of an answer of success; None: no document."""

    def refused(self, name: str, asked: Asked) -> tuple[int, Any]:
        """Return status and document of a refusal."""
        return self.refusals[name]

    def written(self, reply: Reply, asked: Asked) -> Reply:
        if reply.name == "ok":
            status, document = self.done(asked, json.loads(reply.body)["data"])
        elif reply.name in self.refusals:
            status, document = self.refused(reply.name, asked)
        else:
            return reply
        return replace(reply, status=status, body=b"" if document is None else json.dumps(document).encode())


@dataclass(frozen=True)
class Speech:
    """A dialect, and how the gateway is set up for it.

    Attributes:
        kind: the name of the gateway.
        settings: beside the address.
        many: of each check that can be made for many cards in one call, for how many.
        lines: of each endpoint, how the first line of its requests begins, for the scripted card.
        answers: what those endpoints answer that are asked before others.
    """

    kind: str
    dialect: Dialect
    credentials: Callable[[AccountPlan], dict[str, str]]
    lines: Mapping[str, str]
    answers: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    many: Mapping[str, int] = field(default_factory=dict)

    def script(self, endpoint: str, answer: Callable[[Request], bytes]) -> Callable[[Request], bytes]:
        """Return what answers at the endpoint as told, and before as it should be."""

        def answered(asked: Request) -> bytes:
            if asked.line.startswith(self.lines[endpoint]):
                return answer(asked)
            for name, document in self.answers.items():
                if asked.line.startswith(self.lines[name]):
                    return reply(json.dumps(document).encode())
            raise AssertionError(f"{asked.line} was not expected")

        return answered


def simulated(iccid: str) -> SimulatedCard:
    """Return the simulated card of an ICCID as it begins."""
    return card_of(int(iccid[PREFIX_DIGITS:19]), 0.0)


def used_bytes(iccid: str) -> int:
    """Return how much a simulated card has used when it begins."""
    return int(simulated(iccid).used_kb * 1024)
