"""Corruption and lies, to measure how a panel stands them. See README.md."""
