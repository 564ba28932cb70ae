"""The rules and the invariants of tests/scheduler/test_state_machine.py, by who acts."""
