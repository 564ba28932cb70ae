"""The parameters of the job `celery`."""

import pytest

from scheduler.jobs.registry import BadParams, get_job


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "Parameter “task”: Field required."),
        ({"task": "a", "args": "x"}, "Parameter “args”: Input should be a valid list."),
        (
            {"task": "a", "queue": "shop"},
            "Parameter “params”: queue only matters to another application; give its broker_url too.",
        ),
        (
            {"task": "a", "broker_url": "s3cret@host"},
            "Parameter “broker_url”: It must be a broker's URL, for example redis://user:password@host:6379/0.",
        ),
        (
            {"task": "a", "broker_url": "redis://:s3cret@host:port/0"},
            "Parameter “broker_url”: It must be a broker's URL, for example redis://user:password@host:6379/0.",
        ),
        (
            {"task": "a", "broker_url": "redis://h", "result_backend": "rpc://"},
            "Parameter “result_backend”: Results of this kind are sent to the asking process alone and cannot be"
            " followed from here.",
        ),
        (
            {"task": "a", "broker_url": "redis://h", "exchange": "x"},
            "Parameter “params”: exchange and routing_key belong together.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(params: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadParams) as refusal:
        get_job("celery").read_params(params)

    assert str(refusal.value) == sentence


def test_defaults_that_a_form_posts_back_are_no_fault() -> None:
    params = get_job("celery").read_params({"task": "a", "queue": None, "timeout_seconds": 86400, "terminate": False})

    assert params.broker_url is None


def test_each_parameter_is_explained_to_people() -> None:
    fields = get_job("celery").schema()["properties"].values()

    assert all(field["title"] and field["description"] for field in fields)
