"""Try mutations within one session of pytest: each in a fork, which has all modules loaded and the database made.

Functions of a mutated file get the new code, constants the new value, and scripts the new text; so nothing has to be
imported anew, which would take longer than the tests.
"""

import inspect
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from django.db import connections

from project.kit.prepared import Statement
from quotas.ratelimit import limiter
from scheduler.polling.queue import queue
from tests.mutations import Mutation, Subject

ROOT = Path(__file__).parents[2]
VALUES = (str, int, tuple, timedelta)


class Trying:
    """A plugin that runs the collected tests once as they are, and then once for each mutation, up to the first
    failure.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fail the session if the tests fail as they are, or pass with a mutation that they should notice."""
        first = session.items[0]
        first.ihook.pytest_runtest_protocol(item=first, nextitem=session.items[1])  # makes the database
        first._initrequest()  # so that it can run once more
        connections.close_all()
        if noticed := _in_a_fork(lambda: _first_failure(session)):
            pytest.exit(f"The tests fail without any mutation: {noticed}", 1)
        session.testsfailed += sum(_survives(session, mutation) for mutation in self._subject.mutations)
        return True


def _survives(session: pytest.Session, mutation: Mutation) -> bool:
    """Tell whether the tests let a mutation pass that they should notice, and say what came of it."""
    began = time.monotonic()
    text = _mutated(mutation)

    def tried() -> str:
        _mutate(mutation.file, text)
        return _first_failure(session)

    noticed = _in_a_fork(tried)
    verdict = f"killed by {noticed}" if noticed else "accepted" if mutation.accepted else "SURVIVES"
    print(f"\n{mutation.file}: {mutation.old!r} -> {mutation.new!r}")
    print(f"  {time.monotonic() - began:.0f}s {verdict}", flush=True)
    return not noticed and not mutation.accepted


def _in_a_fork(work: Callable[[], str]) -> str:
    """Return what the work returns in a fork, or how the fork ended without returning anything."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(write, work().encode())
            os._exit(0)
        except BaseException as error:
            os.write(write, repr(error)[:1000].encode())
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as answer:
        said = answer.read()
    status = os.waitpid(child, 0)[1]
    return said or (f"its end with status {status}" if status else "")


def _first_failure(session: pytest.Session) -> str:
    items = session.items
    for item, following in zip(items, [*items[1:], items[0]], strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
            (report,) = stats.get("failed", []) + stats.get("error", [])
            return f"{item.nodeid}: {report.longreprtext.splitlines()[-1]}"
    return ""


# --- the new code ------------------------------------------------------------------------------------------------


def _mutated(mutation: Mutation) -> str:
    text = (ROOT / mutation.file).read_text()
    if text.count(mutation.old) != 1:
        pytest.exit(f"{mutation.file} has not once: {mutation.old!r}", 1)
    return text.replace(mutation.old, mutation.new)


def _mutate(file: str, text: str) -> None:
    if file.endswith(".lua"):
        _rescript((ROOT / file).read_text(), text)
    else:
        _recode_all(file, text)


def _rescript(old: str, new: str) -> None:
    """Let the scripts that contain this text, their own or what stands before several, be sent with the new one."""
    for scripts in (queue.SCRIPTS, limiter.SCRIPTS):
        scripts |= {name: script.replace(old, new) for name, script in scripts.items()}
    queue.HASHES |= queue.hashes(queue.SCRIPTS)


def _recode_all(file: str, text: str) -> None:
    module = sys.modules[file.removesuffix(".py").replace("/", ".")]
    mutated = ModuleType(module.__name__)
    exec(compile(text, file, "exec"), mutated.__dict__)  # noqa: S102 - the point of it
    for name, new in vars(mutated).items():
        old = getattr(module, name)
        if isinstance(new, VALUES):
            _set_everywhere(name, old, new)
        elif isinstance(new, Statement):
            vars(old).update(vars(new))
        elif old is not new and getattr(new, "__module__", "") == module.__name__:
            _recode(old, new)


def _set_everywhere(name: str, old: object, new: object) -> None:
    """Set a constant in its module and in those that have imported it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is old:
            setattr(module, name, new)


def _recode(old: Any, new: Any) -> None:
    """Give a function, or all of a class, the new code, and forget what it remembers."""
    if isinstance(new, type):
        for name, member in vars(new).items():
            if isinstance(member, FunctionType | property):
                _recode(vars(old)[name], member)
        return
    if hasattr(old, "cache_clear"):
        old.cache_clear()
    old, new = (inspect.unwrap(one.fget if isinstance(one, property) else one) for one in (old, new))
    if isinstance(old, FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
