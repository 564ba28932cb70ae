"""Why did this run, or not run: answers from the rows, in words that a person on duty understands.

`asking` reads the rows; `due_times`, `fires`, `runs` and `launches` decide what they mean, and are pure.
"""

from scheduler.explaining.asking import explain, explain_fire, explain_run
from scheduler.explaining.explanation import Explanation, RowRef, Situation, from_now, next_in_words
from scheduler.explaining.scans import Scan, Scans

__all__ = [
    "Explanation",
    "RowRef",
    "Scan",
    "Scans",
    "Situation",
    "explain",
    "explain_fire",
    "explain_run",
    "from_now",
    "next_in_words",
]
