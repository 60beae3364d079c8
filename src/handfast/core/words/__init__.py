"""Words that people and models read: nothing in them shows what a caller sent, or can drive a terminal."""
