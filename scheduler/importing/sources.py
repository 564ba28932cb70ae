"""Where crontabs are: the files that cron itself would read on this machine, or those that a person names."""

import os
import pwd
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfoNotFoundError

import tzlocal

_CROND_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SPOOL = re.compile(r".*/var/spool/cron/(?:crontabs/|tabs/)?(?P<owner>[^/]+)")
_SYSTEM = re.compile(r".*/etc/(?:crontab|cron\.d/[^/]+)")


@dataclass(frozen=True, slots=True)
class Source:
    """A crontab.

    Attributes:
        name: what a person calls it.
        key: what it is remembered by, so that a second import finds the first.
        with_user: whether its lines name a user.
        owner: whose crontab it is; None if the lines say so.
    """

    name: str
    key: str
    content: bytes
    with_user: bool
    owner: str | None


@dataclass(frozen=True, slots=True)
class Missing:
    """A crontab that is not there, or that cron ignores; `failed` if it was asked for and cannot be read."""

    name: str
    reason: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the schedules will run.

    Attributes:
        user: who runs this process.
        is_root: whether its runs may become another user.
        zone: the IANA zone of its clock, by which cron reads its crontabs.
    """

    user: str
    is_root: bool
    zone: str

    def has_user(self, name: str) -> bool:
        """Tell whether there is such a user."""
        try:
            pwd.getpwnam(name)
        except KeyError:
            return False
        return True


def this_machine(zone: str | None = None) -> Machine:
    """Return what this process is and where, with another zone than the machine's if one is given."""
    return Machine(_present_user(), os.geteuid() == 0, zone or _machine_zone())


def _present_user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # containers run under numbers without a name
        return str(os.geteuid())


def _machine_zone() -> str:
    try:
        return tzlocal.get_localzone_name() or "UTC"
    except ZoneInfoNotFoundError:  # /etc/timezone and /etc/localtime contradict each other
        return "UTC"


def on_this_machine(root: Path = Path("/")) -> Iterator[Source | Missing]:
    """Yield /etc/crontab, the files of /etc/cron.d and the present user's crontab, found or not."""
    yield from_file(root / "etc/crontab", asked_for=False)
    folder = root / "etc/cron.d"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    if not files:
        yield Missing(str(folder), "There are no files here.", failed=False)
    for file in files:
        if _CROND_NAME.fullmatch(file.name):
            yield from_file(file)
        elif not file.name.startswith("."):
            reason = "Debian's cron ignores it: the name may have letters, digits, _ and - only."
            yield Missing(str(file), reason, failed=False)
    yield of_present_user()


def from_file(file: Path, *, with_user: bool | None = None, asked_for: bool = True) -> Source | Missing:
    """Read one file.

    Args:
        with_user: whether its lines name a user; by default, as its path says.
        asked_for: whether it is a fault if there is no such file.
    """
    path = str(file.absolute())
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return Missing(str(file), "There is no such file.", failed=asked_for)
    except OSError as error:
        return Missing(str(file), f"It cannot be read: {error.strerror}.", failed=True)
    spool = _SPOOL.fullmatch(path)
    if spool:
        return _of_user(spool["owner"], content)
    return Source(path, path, content, bool(_SYSTEM.fullmatch(path)) if with_user is None else with_user, None)


def of_present_user() -> Source | Missing:
    """Return what `crontab -l` prints."""
    name = f"crontab of {_present_user()}"
    try:
        listed = subprocess.run(["crontab", "-l"], capture_output=True, timeout=30, check=False)
    except FileNotFoundError:
        return Missing(name, "There is no crontab command on this machine.", failed=False)
    if listed.returncode != 0:
        said = listed.stderr.decode(errors="replace").strip() or "It is empty."
        return Missing(name, said, failed=False)
    return _of_user(_present_user(), listed.stdout)


def _of_user(owner: str, content: bytes) -> Source:
    return Source(f"crontab of {owner}", f"user/{owner}", content, with_user=False, owner=owner)
