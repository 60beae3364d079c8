"""How much of a message is read: bounds that hold before anything slow looks at it."""

from typing import Final

# Of one object that is read member by member. A member costs about a microsecond, so this is 10 ms; the objects of the
# protocol have a dozen, and what a tool is given or returns below its root is not read that way.
MOST_MEMBERS: Final = 10_000
# Of one page of a list, such as tools or resources: what is done with an item costs some 20 microseconds, in slices.
MOST_ITEMS: Final = 10_000
# Levels that are always read. The decoder gives up at the interpreter's recursion limit, a thousand less the stack.
MOST_LEVELS: Final = 512
# In the arguments of one call. Making an object of a value takes up to 300 ns, so this is 30 ms; 4 MiB of dense JSON
# have two million.
MOST_VALUES: Final = 100_000
# Names that one error text is about; "and N more" stands for the rest.
MOST_OFFENDERS: Final = 10
