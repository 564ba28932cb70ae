"""manage.py simulate_carrier: a carrier that does not exist, for trying out, for tests and for measuring."""

import asyncio
import os
import signal
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduler.polling.carriers.simulator.accounts import AccountPlan, BadPlan, limit_of, plan_of
from scheduler.polling.carriers.simulator.running import HOST, serve
from scheduler.polling.carriers.simulator.server import CarrierServer


class Command(BaseCommand):
    """Serve a simulated carrier until it is interrupted or asked to stop."""

    help = "Serve a carrier that does not exist: cards, limits, latency, and faults on demand."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=HOST, help=f"where it listens (default {HOST})")
        parser.add_argument("--port", type=int, default=8900, help="0: any that is free (default 8900)")
        parser.add_argument("--cards", type=int, default=1000, help="of the account “main” (default 1000)")
        parser.add_argument("--latency", type=float, default=20, help="of its answers, in ms (default 20)")
        parser.add_argument("--spread", type=float, default=0, help="of the latency, in ms, in either direction")
        parser.add_argument("--rate", action="append", default=[], help="calls/seconds, such as 5/1; may be repeated")
        parser.add_argument("--concurrency", type=int, help="calls at one time")
        parser.add_argument(
            "--account",
            action="append",
            default=[],
            help="a further account: slow,latency=500,rate=5/1,concurrency=1,cards=100; may be repeated",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            plans = [_main_of(options), *map(plan_of, options["account"])]
        except BadPlan as error:
            raise CommandError(str(error)) from error
        self._serve(CarrierServer(plans), options["host"], options["port"])

    def _serve(self, server: CarrierServer, host: str, port: int) -> None:
        try:
            asyncio.run(serve(server, host, port, lambda port: self._begin(f"http://{host}:{port}")))
        except OSError as error:
            raise CommandError(f"The port {port} cannot be had: {error.strerror}.") from error
        except KeyboardInterrupt:
            return

    def _begin(self, url: str) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)  # there is nothing to tidy up
        self.stdout.write(f"Listening on {url}. What was counted: {url}/_stats")
        self.stdout.flush()


def _main_of(options: dict[str, Any]) -> AccountPlan:
    return replace(
        AccountPlan(),
        cards=options["cards"],
        latency=options["latency"],
        spread=options["spread"],
        limits=tuple(map(limit_of, options["rate"])),
        concurrency=options["concurrency"],
    )
