"""What must not be seen at any moment of a campaign: progress that goes back, a check told by who had lost it."""

from scheduler.models import TaskRun
from tests.faults.polling_books import Ledger


class Watch:
    """What was seen so far.

    Attributes:
        looks: how many runs were compared with what they had been before.
        ledger: of the cards' checks.
        gone_back: the runs whose progress did, a sentence each.
        wrong_checks: those that went back or failed, a sentence each.
    """

    def __init__(self) -> None:
        self.looks = 0
        self.ledger = Ledger()
        self.gone_back: list[str] = []
        self.wrong_checks: list[str] = []
        self._progress: dict[int, tuple[int, int]] = {}

    def look(self) -> None:
        """Compare the rows with what they were."""
        self._look_at_runs()
        try:
            self.ledger.look()
        except AssertionError as error:
            self.wrong_checks.append(f"A check went back, or failed: {error}")

    def _look_at_runs(self) -> None:
        rows = TaskRun.objects.exclude(progress_done=None).values_list("pk", "progress__item", "progress_done")
        for run, *reached in rows:
            now = (reached[0], reached[1])
            before = self._progress.get(run, now)
            if now < before:
                self.gone_back.append(f"Run {run} went back from item {before} to {now}.")
            self._progress[run] = now
            self.looks += 1
