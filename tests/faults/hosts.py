"""Hosts of one machine's making: network namespaces on a bridge, each with a name of its own, that can be cut off."""

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from django.conf import settings

from project.processes import commands
from tests.faults.house import House
from tests.processes import Started

BRIDGE_ADDRESS = "10.213.77.1"
_BRIDGE = f"tide{os.getpid()}"[:15]


class NoNamespaces(Exception):
    """Network namespaces cannot be made here; the text says why."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host.

    Attributes:
        name: its host name, by which leases are owned.
        link: the bridge's end of its cable.
    """

    name: str
    link: str

    def start(self, house: House, *names: str) -> list[Started]:
        """Start processes of the Procfile on this host."""
        return [house.processes.run(name, self._command(name), **house.environ) for name in names]

    def cut_off(self) -> None:
        """Pull the cable: what is sent in either direction is lost, and nobody is told."""
        _ip("link", "set", self.link, "down")

    def rejoin(self) -> None:
        """Put the cable back."""
        _ip("link", "set", self.link, "up")

    def _command(self, process: str) -> str:
        command = f"hostname {self.name}; {commands(settings.BASE_DIR / 'Procfile')[process]}"
        return f"exec ip netns exec {self.name} unshare --uts sh -c {shlex.quote(command)}"


@contextmanager
def hosts_on_a_bridge(count: int) -> Iterator[Sequence[Host]]:
    """Make so many hosts, all of which reach this one at BRIDGE_ADDRESS; they are gone at the end of the block.

    Raises:
        NoNamespaces: the kernel or our rights do not allow it.
    """
    with ExitStack() as stack:
        _make(stack, ["link", "add", _BRIDGE, "type", "bridge"], ["link", "del", _BRIDGE])
        _ip("address", "add", f"{BRIDGE_ADDRESS}/24", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")
        yield [_make_host(stack, number) for number in range(1, count + 1)]


def _make_host(stack: ExitStack, number: int) -> Host:
    host = Host(f"{_BRIDGE}-host-{number}", f"{_BRIDGE}p{number}"[-15:])
    _make(stack, ["netns", "add", host.name], ["netns", "del", host.name])
    # Deleted with its namespace, but later; the next test must not find it.
    _make(
        stack,
        ["link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", host.name],
        ["link", "del", host.link],
    )
    _ip("link", "set", host.link, "master", _BRIDGE, "up")
    for words in (["link", "set", "lo", "up"], ["link", "set", "eth0", "up"]):
        _ip("-n", host.name, *words)
    _ip("-n", host.name, "address", "add", f"{BRIDGE_ADDRESS[:-1]}{10 + number}/24", "dev", "eth0")
    return host


def _make(stack: ExitStack, make: Sequence[str], unmake: Sequence[str]) -> None:
    _ip(*make)
    stack.callback(_ip, *unmake)


def _ip(*words: str) -> None:
    try:
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise NoNamespaces("the program `ip` (package iproute2) is not installed") from error
    except subprocess.CalledProcessError as error:
        raise NoNamespaces(f"ip {' '.join(words)}: {error.stderr.strip()}") from error
