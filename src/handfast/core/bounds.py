"""Bounds on how much of a message is read; they apply before any slow step looks at the message."""

from typing import Final

# Members of one object that is read member by member. A member costs about a microsecond, so this is 10 ms; the
# protocol's objects have a dozen, and arguments and results are not read this way below their root.
MOST_MEMBERS: Final = 10_000
# Items of one page of a list, such as tools or resources. Handling an item costs some 20 microseconds, in slices.
MOST_ITEMS: Final = 10_000
# Levels of nesting that are always read. The decoder fails at the interpreter's recursion limit: 1000 less the stack.
MOST_LEVELS: Final = 512
# Values in the arguments of one call. Building a Python object for a value takes up to 300 ns, so this is 30 ms;
# 4 MiB of dense JSON hold two million values.
MOST_VALUES: Final = 100_000
# Names that one error text lists; "and N more" stands for the rest.
MOST_OFFENDERS: Final = 10
