"""Measurements of what the design names numbers for; `python -m bench` runs them all."""
