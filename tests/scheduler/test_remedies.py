"""What to do when a run has failed: a sentence that fits the cause, for each of the causes that are known."""

import inspect
from types import ModuleType

import pytest

from scheduler import executing, running
from scheduler.jobs import celery_remote, command, http, management, registry
from scheduler.jobs.registry import UnknownJob
from scheduler.remedies import BY_ITSELF, CAUSES, remedy
from scheduler.states import AttemptOutcome

UPSTREAM = "https://api.example.org"


@pytest.mark.parametrize(
    ("job", "error", "says"),
    [
        ("command", "The command ended with exit status 3.", "Or correct the command"),
        ("command", "The command ended with exit status 126 (it cannot be executed).", "Make the program executable"),
        ("command", "The command ended with exit status 127 (the shell did not find it).", "Install the program"),
        ("command", "The command was ended by SIGKILL (signal 9).", "memory ran out"),
        ("command", "The command ended with exit status 137 (a program in it was ended by SIGKILL …).", "memory"),
        ("command", "The command was ended by SIGSEGV (signal 11).", "Mend what the command works on"),
        ("management", "clearsessions ended with exit status 2.", "Mend what the command works on"),
        ("http", f"{UPSTREAM} answered 401 Unauthorized; expected was 200-299.", "credentials"),
        ("http", f"{UPSTREAM} answered 403 Forbidden; expected was 200-299.", "credentials"),
        ("http", f"{UPSTREAM} answered 404 Not Found; expected was 200-299.", "Correct the address"),
        ("http", f"{UPSTREAM} redirects again and again.", "Correct the address"),
        ("http", f"{UPSTREAM} answered 302 Found; expected was 200-299. Redirects are not followed.", "follow"),
        ("http", f"{UPSTREAM} answered 429 Too Many Requests; expected was 200-299.", "Call it less often"),
        ("http", f"{UPSTREAM} answered 503 Service Unavailable; expected was 200-299.", "The server failed"),
        ("http", f"{UPSTREAM} answered 200 OK; expected was 404.", "Correct the request"),
        ("http", f"{UPSTREAM} did not answer within 30 s.", "raise timeout_seconds"),
        ("http", f"{UPSTREAM} cannot be reached: Connection refused.", "the server is up"),
        ("http", f"{UPSTREAM} broke off the exchange (ReadError).", "the server is up"),
        ("celery", "The task did not end within 60 s and was revoked.", "raise timeout_seconds"),
        ("celery", "The task was revoked in its application.", "Somebody stopped it there"),
        ("mine", str(UnknownJob("mine")), "Start the runner with the code that has this job"),
        ("mine", "Parameter “days”: Input should be a valid integer.", "Correct the parameters"),
        ("mine", "The job ended the process: exit status 1.", "return or raise an error"),
        ("mine", running.UNASKED, "raise an error that says why"),
        ("mine", "KeyError: 'total'", BY_ITSELF),
        ("mine", "The command ended with exit status 3.", BY_ITSELF),
        ("mine", "", BY_ITSELF),
    ],
)
def test_the_remedy_fits_the_cause(job: str, error: str, says: str) -> None:
    assert says in remedy(job, AttemptOutcome.FAILED, error)


@pytest.mark.parametrize(
    ("outcome", "says"), [(AttemptOutcome.TIMED_OUT, "attempt timeout"), (AttemptOutcome.LOST, "memory ran out")]
)
def test_how_the_attempt_ended_counts_before_its_words(outcome: AttemptOutcome, says: str) -> None:
    assert says in remedy("command", outcome, "The command ended with exit status 3.")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (command, "ended with exit status"),
        (command, "was ended by"),
        (management, "ended with exit status"),
        (http, "answered"),
        (http, "did not answer within"),
        (http, "cannot be reached"),
        (http, "broke off the exchange"),
        (http, "redirects again and again"),
        (http, "no web address"),
        (celery_remote, "and was revoked."),
        (celery_remote, "was revoked in its application"),
        (registry, "Parameter “"),
        (executing, "The job ended the process"),
    ],
)
def test_the_words_that_are_looked_for_are_those_that_are_written(module: ModuleType, words: str) -> None:
    assert words in inspect.getsource(module)


def test_every_remedy_is_a_sentence_and_sends_nobody_to_the_log() -> None:
    for cause in CAUSES:
        assert cause.remedy.endswith(".")
        assert "log" not in cause.remedy.split()
