"""What a service can object to. Each message says what happened, then what to do, and is fit for an agent to read."""


class ServiceError(Exception):
    """A request that the rules of the back office do not allow."""


class NotFound(ServiceError):
    """What was named is not there."""

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no such {what}. List them to find one that exists.")


class Conflict(ServiceError):
    """What was asked does not fit the state that things are in."""


class Forbidden(ServiceError):
    """Not for this caller."""


class CapabilityMissing(ServiceError):
    """The backend in question has no method for what was asked; the message is half a sentence that says why."""


class Unavailable(ServiceError):
    """The database could not be used just now."""

    def __init__(self) -> None:
        super().__init__("The database is busy or cannot be reached. Try again in a moment.")
