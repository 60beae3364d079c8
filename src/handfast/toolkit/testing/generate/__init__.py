"""Arguments inside and outside a schema, made from the schema itself."""
