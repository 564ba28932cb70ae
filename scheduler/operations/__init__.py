"""What a person does with schedules and runs: run now, run again, retry, cancel, let go on, put off. Rows are written
and the next scan acts; nothing here talks to the broker.
"""

from scheduler.operations.ending import cancel, give_up, holds_outside
from scheduler.operations.going_on import WENT_ON, Resumed, answer, let_go_on, resume, retry_now
from scheduler.operations.refusing import NotPossible
from scheduler.operations.starting import run_again, run_job, run_now

__all__ = [
    "WENT_ON",
    "NotPossible",
    "Resumed",
    "answer",
    "cancel",
    "give_up",
    "holds_outside",
    "let_go_on",
    "resume",
    "retry_now",
    "run_again",
    "run_job",
    "run_now",
]
