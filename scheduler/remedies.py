"""What to do when a run has failed for good, by how its last attempt ended: one sentence that fits the cause."""

import re
from dataclasses import dataclass

from scheduler.states import AttemptOutcome

AGAIN = "then run it again."
# What a schedule says was copied into the run when it was opened.
ANEW = "then run the schedule now; run again, it would keep the old parameters."


@dataclass(frozen=True, slots=True)
class Cause:
    """What an error's text tells of its cause, and the remedy.

    Attributes:
        error: matches the text, which the job's own code wrote; see tests/scheduler/test_remedies.py.
        job: only for this one; empty: for any.
    """

    error: str
    remedy: str
    job: str = ""

    def fits(self, job: str, error: str) -> bool:
        """Tell whether this is the cause."""
        return self.job in ("", job) and re.search(self.error, error) is not None


def remedy(job: str, outcome: AttemptOutcome, error: str) -> str:
    """Return what a person can do so that the run, or the next one, does its work.

    Args:
        job: the job's key.
        outcome: how the run's last attempt ended.
        error: why, as the run says it.
    """
    if outcome in BY_OUTCOME:
        return BY_OUTCOME[outcome]
    return next((cause.remedy for cause in CAUSES if cause.fits(job, error)), BY_ITSELF)


BY_ITSELF = f"Mend what the error names, {AGAIN}"

BY_OUTCOME = {
    AttemptOutcome.TIMED_OUT: f"Raise the schedule's attempt timeout or let the job do less at a time, {ANEW}",
    AttemptOutcome.LOST: (
        "The worker's process ended each time. Most often memory ran out: give the workers more, or let the job take"
        f" less at a time, {AGAIN}"
    ),
}

_WORKED_ON = f"Mend what the command works on, {AGAIN} Or correct the command itself, {ANEW}"
_SIGNED_IN = f"Correct the credentials in the schedule's headers, {ANEW}"
_ADDRESSED = f"Correct the address in the schedule's parameters, {ANEW}"

# The first one that fits counts.
CAUSES = (
    Cause(
        r"^No job “.*” is registered",
        "Start the runner with the code that has this job (its app installed, or its module named in TIDELINE_JOBS),"
        f" {AGAIN}",
    ),
    Cause(r"^Parameter “", f"Correct the parameters on the schedule's page, {ANEW}"),
    Cause(r"^The job ended the process", f"Let the job return or raise an error instead, {AGAIN}"),
    Cause(r"^The job ended itself as cancelled", f"Let the job raise an error that says why it failed, {AGAIN}"),
    Cause(
        r"SIGKILL",
        f"Something killed it; most often memory ran out. Give the machine more, or let it take less, {AGAIN}",
        "command",
    ),
    Cause(
        r"exit status 126\b", f"Make the program executable for the user that the command runs as, {AGAIN}", "command"
    ),
    Cause(
        r"exit status 127\b",
        f"Install the program on the worker's machine, {AGAIN} Or write its whole path into the command, {ANEW}",
        "command",
    ),
    Cause(r"ended (?:with exit status|by)", _WORKED_ON, "command"),
    Cause(r"ended with exit status", f"Mend what the command works on, {AGAIN}", "management"),
    Cause(r"answered 40[13]\b", _SIGNED_IN, "http"),
    Cause(r"answered (?:404|405|410)\b|no web address|redirects again and again", _ADDRESSED, "http"),
    Cause(r"answered 3\d\d\b", f"Write the address that it leads to, or follow redirects, {ANEW}", "http"),
    Cause(r"answered 429\b", "Call it less often, or let the schedule retry later.", "http"),
    Cause(r"answered 5\d\d\b", f"The server failed. Ask whoever runs it, {AGAIN}", "http"),
    Cause(
        r"did not answer within",
        f"Ask whoever runs the server why it is slow. Or raise timeout_seconds in the parameters, {ANEW}",
        "http",
    ),
    Cause(
        r"cannot be reached|broke off the exchange",
        f"See that the server is up and that the worker's machine can reach it, {AGAIN}",
        "http",
    ),
    Cause(r"answered \d{3}\b", f"Correct the request, or add the status to the expected ones, {ANEW}", "http"),
    Cause(
        r"did not end within \d+ s and was revoked",
        f"See that the other application's workers keep up. Or raise timeout_seconds in the parameters, {ANEW}",
        "celery",
    ),
    Cause(r"was revoked in its application", "Somebody stopped it there. If it is to be done, run it again.", "celery"),
)
