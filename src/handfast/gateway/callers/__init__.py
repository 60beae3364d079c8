"""Who calls, and what belongs to whom: ids, states and held calls that are good for one caller alone."""
