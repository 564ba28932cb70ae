"""What Prometheus reads at `/metrics`: gathered from the rows and Redis when it is asked for, by a number of cheap
questions that does not grow with the rows. docs/operations.md tells what each figure means.

There is a module a part, which defines the part's metrics and reads their figures; `collecting` puts them together.

History is not counted to its end. What happened "lately" is a gauge over the last five minutes, of no more than the
latest 10,000 rows; counters are only what a row or Redis itself keeps as one.
"""
