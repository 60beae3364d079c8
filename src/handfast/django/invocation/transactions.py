"""All or nothing, on every database that a project writes to."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, router, transaction
from django.http import HttpRequest

from handfast.django.invocation.refusals import crashed
from handfast.django.invocation.running import answer_for


@contextmanager
def one_transaction(request: HttpRequest) -> Iterator[Collection[str]]:
    """Keeps what is done inside, or none of it. Raises: ToolError, for what a database refuses only at the end."""
    databases = _written_databases()
    try:
        with savepoint(databases):
            yield databases
    except DatabaseError as error:
        answer_for(error, request)
        raise crashed() from None


@contextmanager
def savepoint(databases: Collection[str]) -> Iterator[None]:
    """A transaction on each of them, or a savepoint in one."""
    with ExitStack() as stack:
        for alias in databases:
            stack.enter_context(transaction.atomic(using=alias))
        yield
        if any(transaction.get_rollback(using=alias) for alias in databases):
            # The view says that it went well, and what it did will be undone.
            raise crashed()


def _written_databases() -> list[str]:
    """Those that routers send writes of any model to, and those that Django itself would open a transaction on."""
    found = {router.db_for_write(model) for model in apps.get_models()} if router.routers else {DEFAULT_DB_ALIAS}
    found |= {alias for alias, options in connections.settings.items() if options["ATOMIC_REQUESTS"]}
    return sorted(alias for alias in found if alias in connections.settings)
