"""What a trigger is refused with."""


class TriggerError(ValueError):
    """A trigger that cannot be used: `field` names what to correct, `message` is a sentence for a person."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
