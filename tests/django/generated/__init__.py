"""Models, serializers and viewsets that nobody wrote, over rows that no validator has seen."""
