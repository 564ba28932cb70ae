"""Platforms that answer 200 whatever happened: the code in the body says what did."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from alerts.channels.answers import (
    ambiguous,
    json_object,
    judge_status,
    retry_after,
    says_too_often,
    whole_number,
    with_pause,
)
from alerts.channels.base import Answer, Verdict
from alerts.states import DeliveryOutcome


@dataclass(frozen=True, slots=True)
class Code:
    """What a platform means by a code."""

    outcome: DeliveryOutcome
    meaning: str


@dataclass(frozen=True, slots=True)
class Codebook:
    """How a platform says what happened.

    Attributes:
        platform: as people call it.
        fields: of the body that may hold the code.
        texts: of the body that may hold the words.
        pause: seconds to wait when the platform is asked too often, unless the answer says so itself.
        codes: those that are known; 0 is success.
        by_words: codes that mean the limit as well as something else, so that the words decide.
    """

    platform: str
    fields: tuple[str, ...]
    texts: tuple[str, ...]
    pause: float
    codes: Mapping[int, Code] = field(repr=False)
    by_words: frozenset[int] = frozenset()

    def judge(self, answer: Answer) -> Verdict:
        """Judge the answer by its code; without one by its status, where 2xx without a code proves nothing."""
        body = json_object(answer)
        code = self._code(body) if body is not None else None
        if body is None or code is None:
            return self._without_code(answer)
        if code == 0:
            return self._success(answer)
        return self._failure(answer, code, body)

    def words(self, body: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what the body says in words."""
        return tuple(body[name] for name in self.texts if isinstance(body.get(name), str))

    def _code(self, body: Mapping[str, Any]) -> int | None:
        """Return the code; old and new fields may stand side by side, and whichever says failure counts."""
        codes = [code for name in self.fields if (code := whole_number(body.get(name))) is not None]
        return next((code for code in codes if code), 0 if codes else None)

    def _without_code(self, answer: Answer) -> Verdict:
        verdict = judge_status(answer)
        if verdict.outcome is not DeliveryOutcome.SENT:
            return with_pause(verdict, self.pause)
        return ambiguous(
            answer,
            f"The answer is not one of {self.platform}: something between here and there may have given it. "
            "Look into the group, and check the address.",
        )

    def _success(self, answer: Answer) -> Verdict:
        verdict = judge_status(answer)
        if verdict.outcome is not DeliveryOutcome.SENT:
            return verdict
        return Verdict(DeliveryOutcome.SENT, "0", f"{self.platform} took it.")

    def _failure(self, answer: Answer, code: int, body: Mapping[str, Any]) -> Verdict:
        known = self.codes.get(code)
        if (known is None or code in self.by_words) and says_too_often(*self.words(body)):
            known = Code(DeliveryOutcome.RETRY, "It is asked too often.")
        if known is None:
            return self._unknown(answer, code)
        verdict = Verdict(known.outcome, str(code), f"{self.platform}: {known.meaning}", retry_after(answer))
        return with_pause(verdict, self.pause)

    def _unknown(self, answer: Answer, code: int) -> Verdict:
        by_status = judge_status(answer)
        if by_status.outcome is not DeliveryOutcome.SENT:
            return with_pause(replace(by_status, code=str(code)), self.pause)
        meaning = f"{self.platform} refuses it with a code that is not known here. Look it up in its documentation."
        return Verdict(DeliveryOutcome.PERMANENT, str(code), meaning)


def permanent(meaning: str) -> Code:
    """Return what a code means of which sending again is no use."""
    return Code(DeliveryOutcome.PERMANENT, meaning)


def retry(meaning: str) -> Code:
    """Return what a code means that passes by itself."""
    return Code(DeliveryOutcome.RETRY, meaning)
