"""Why did this run, or not run: answers from the rows, in words that a person on duty understands.

`asking` and `quota_facts` read the rows; `due_times`, `fires`, `runs`, `launches` and `pauses` decide what they mean,
and are pure.
"""

from scheduler.explaining.asking import explain, explain_fire, explain_run
from scheduler.explaining.explanation import Explanation, RowRef, Situation, from_now, next_in_words
from scheduler.explaining.needs import need_in_words
from scheduler.explaining.quota_facts import Need, QuotaFacts, read_quota_facts
from scheduler.explaining.scans import Scan, Scans

__all__ = [
    "Explanation",
    "Need",
    "QuotaFacts",
    "RowRef",
    "Scan",
    "Scans",
    "Situation",
    "explain",
    "explain_fire",
    "explain_run",
    "from_now",
    "need_in_words",
    "next_in_words",
    "read_quota_facts",
]
