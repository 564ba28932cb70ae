"""Mutations of the modules that decide in the database: their conditions, their locks and their guards, one by one.

`python -m tests.mutations [NAME ...]` breaks the product in each of these places in turn, in a copy, and runs the tests
that should notice. What it tells is in docs/mutation-testing.md.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """One place, and how it is broken.

    Attributes:
        old: a text that the file has once.
        accepted: why no test notices; empty where one has to.
    """

    file: str
    old: str
    new: str
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is mutated together, and the tests that should notice, the likeliest first."""

    tests: tuple[str, ...]
    mutations: tuple[Mutation, ...]
