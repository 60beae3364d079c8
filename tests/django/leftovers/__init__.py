"""An app whose rows may be left empty: for the tests of `empty-rows` and of the checks."""
