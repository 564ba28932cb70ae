"""Mutations of quotas.evaluating: when a quota is sufficient, when that is an edge, and when it is looked at again."""

from functools import partial

from tests.mutations import Mutation, Subject

_judge = partial(Mutation, "quotas/evaluating.py")

SUBJECT = Subject(
    tests=(
        "tests/quotas/test_evaluating.py",
        "tests/quotas/test_stable_times.py",
        "tests/quotas/test_warnings.py",
        "tests/quotas/test_noted_needs.py",
        "tests/quotas/test_scans.py",
        "tests/quotas/test_shadow_mode.py",
        "tests/quotas/test_rates.py",
        "tests/quotas/test_worked_examples.py",
        "tests/quotas/test_observing.py",
        "tests/quotas/test_raising_limits.py",
    ),
    mutations=(
        # the verdict
        _judge("(left == 0 or quota", "(left in (0, 1) or quota"),
        _judge("(left == 0 or quota.provider_unverified)", "left == 0"),
        _judge("left <= availability.bar(quota)", "left < availability.bar(quota)"),
        _judge("quota.above_since is None or cause in DECIDED", "quota.above_since is None"),
        _judge("if now < _rises_at(quota, quota.above_since) or", "if now <= _rises_at(quota, quota.above_since) or"),
        _judge(" or _flaps(quota, now):", ":"),
        _judge("if quota.above_cause in DECIDED:\n        return", "if False:\n        return"),
        _judge("quota.calm_until is None or quota.above_cause in EXPECTED", "quota.calm_until is None"),
        # edges
        _judge("quota.verdict == Verdict.INSUFFICIENT or quota.waited_for is None or", "quota.waited_for is None or"),
        _judge("quota.waited_for is None or quota.waited_met:", "quota.waited_for is None:"),
        _judge("    quota.waited_met = availability.fits(quota, quota.waited_for or 0, now)\n", ""),
        _judge("risen_by or cause, now)", "cause, now)"),
        _judge("    if quota.above_cause in EXPECTED:\n        return False\n", ""),
        _judge("edges < MOST_EDGES_AN_HOUR", "edges <= MOST_EDGES_AN_HOUR"),
        _judge("    quota.calm_until = now + HOUR\n", ""),
        # who has to wait with those who wait
        _judge("quota.waited_since is None or quota.kind == Kind.PERIODIC", "quota.waited_since is None"),
        _judge("now >= quota.waited_since", "now > quota.waited_since"),
        # what the provider said
        _judge("now >= quota.blocked_until", "now > quota.blocked_until"),
        _judge("None, None, True", "None, None, quota.provider_unverified"),
        # warnings
        _judge("    elif cause in DECIDED:\n", "    else:\n"),
        _judge("not quota.limit or quota.kind == Kind.RATE", "not quota.limit"),
        _judge("if percent > quota.warned_percent)", "if percent >= quota.warned_percent)"),
        # when to look again
        _judge("(quota.waited_for is None or quota.waited_met)", "quota.waited_for is None"),
        _judge("        instants.append(quota.period_end)\n", "        pass\n"),
        _judge("return min(planned, quota.next_check_at)", "return planned"),
    ),
)
