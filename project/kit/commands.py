"""What the commands share: one verb, one answer, for people as lines and for programs as JSON, and an exit status."""

import json
import os
import pwd
import sys
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import InterfaceError, OperationalError, ProgrammingError

from project.kit.clock import database_now


class Status(IntEnum):
    """Exit statuses for scripts. argparse itself ends with 2 where the arguments cannot be read."""

    DONE = 0
    NOT_POSSIBLE = 1
    NOT_WELL = 3  # what was waited for ended, but not well; what was verified does not fit
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Told:
    """What a verb did: as sentences, as values, and how well."""

    sentences: list[str]
    values: dict[str, Any] = field(default_factory=dict)
    status: Status = Status.DONE


class Verb(BaseCommand):
    """A command that looks something up, does one thing with it, and tells what it did.

    Attributes:
        refusals: the domain's exceptions that mean "not possible"; their text is the sentence with which it fails.
    """

    # Nothing of what the system checks look at is used here; a verb of a person on duty answers at once.
    requires_system_checks = ()
    refusals: tuple[type[Exception], ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare what every verb understands; verbs add their own."""
        parser.add_argument("--json", action="store_true", help="tell programs what was done, as JSON")

    @abstractmethod
    def act(self, options: dict[str, Any], now: datetime) -> Told:
        """Do it, and return what to tell."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it and tell it, or fail with one sentence."""
        try:
            with self._refusals_in_one_sentence():
                told = self.act(options, database_now())
        except CommandError as refusal:
            if options["json"]:
                self.stdout.write(json.dumps({"error": str(refusal)}, ensure_ascii=False))
            raise
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            sys.exit(Status.INTERRUPTED)
        self._tell(told, as_json=options["json"])
        if told.status != Status.DONE:
            sys.exit(told.status)

    def _tell(self, told: Told, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(told.values, indent=1, ensure_ascii=False, cls=DjangoJSONEncoder))
        else:
            self.stdout.write("\n".join(told.sentences))

    @contextmanager
    def _refusals_in_one_sentence(self) -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except self.refusals as error:
            raise CommandError(str(error)) from error
        except (OperationalError, InterfaceError, ProgrammingError) as error:
            raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error


def actor() -> str:
    """Return who does this: the name of the operating system's user, which no environment variable can change."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user that no file knows
        return f"user {os.getuid()}"
