"""Formats of other programs, one file each, imported when they are met. Start in reading.py."""
