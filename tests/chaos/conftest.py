"""Fixtures of the campaign: a PostgreSQL of its own, on which Django works too."""

from tests.faults.conftest import own_postgresql

__all__ = ["own_postgresql"]
