"""Whether an error text is enough to repair a call: faulty calls, the texts of four contenders, an agent that reads."""
