"""There and back and there again, by real processes with work in progress: no card is lost, and none is ever asked
twice at once, as the carrier counts.
"""

from collections.abc import Iterator

import pytest

from project.kit.clock import database_now
from scheduler.polling import connecting, system_settings
from scheduler.polling.carriers.simulator import RunningCarrier
from scheduler.polling.cutover import carrier_side, legacy_side, sets, switching
from scheduler.polling.fleet.live_order import polled_cards
from scheduler.polling.models import CarrierAccount, Cutover
from scheduler.polling.system_settings import Mode
from tests.faults.house import House
from tests.faults.polling_books import Ledger, audit_no_failure, audit_orders
from tests.faults.test_polling_campaign import carrier, polled_accounts, wait_until_all_are_polled

__all__ = ["carrier"]

# Of one check, so that what a killed worker has in hand is soon over.
SHORT = {"polling.steps.timeout": 3, "polling.gateway.max_wait": 1, "polling.steps.total_margin": 1}
PATIENCE_SECONDS = 60


@pytest.fixture
def accounts(carrier: RunningCarrier, house: House) -> Iterator[list[CarrierAccount]]:
    for key, seconds in SHORT.items():
        system_settings.change(key, seconds, actor="the test", now=database_now())
    yield polled_accounts(carrier)
    system_settings.current.forget()


@pytest.mark.slow
@pytest.mark.timeout(6 * PATIENCE_SECONDS)
def test_there_and_back_and_there_again_amid_the_work_no_card_is_lost_and_none_is_asked_twice_at_once(
    house: House,
    carrier: RunningCarrier,
    accounts: list[CarrierAccount],
) -> None:
    ledger = Ledger()
    house.supervise("worker", "beat", "poller", "legacy")
    wait_until_all_are_polled(house, ledger)

    cut_over(house, carrier, Mode.LEGACY)
    wait_until_all_are_polled(house, ledger)
    audit_sets()
    house.supervised[-1].kill9()
    cut_over(house, carrier, Mode.CARRIER)
    wait_until_all_are_polled(house, ledger)
    audit_orders(*(account.pk for account in accounts))
    assert not legacy_side.held(connecting.client())
    house.supervised[2].kill9()
    cut_over(house, carrier, Mode.LEGACY)
    wait_until_all_are_polled(house, ledger)
    audit_sets()

    audit_no_failure()
    assert Cutover.objects.filter(progress__astray=0, progress__twice=0).count() == 3
    for account in accounts:
        assert carrier.stats(account.name)["card_asked_twice_at_once"] == 0


def cut_over(house: House, carrier: RunningCarrier, wanted: Mode) -> None:
    """Begin a cut-over while a card is worked on, and wait until the scans have led it to its end."""
    house.wait_until(lambda: carrier.stats("one")["in_flight"], PATIENCE_SECONDS, "a call to be under way")
    switching.start(wanted, actor="the test", now=database_now())
    house.wait_until(lambda: not switching.under_way(), PATIENCE_SECONDS, f"the cut-over to {wanted}")


def audit_sets() -> None:
    """Assert that each polled card is in the sets, and in no live order."""
    redis = connecting.client()
    assert sets.cards(redis) == set(polled_cards().values_list("pk", flat=True))
    assert not carrier_side.held(redis)
