"""Clients of either era in front of a scripted server that speaks the modern form."""
