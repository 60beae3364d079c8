"""Serializers, fields and models as JSON Schema."""
