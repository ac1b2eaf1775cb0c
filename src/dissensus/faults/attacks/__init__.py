"""Attacks through what an agent reads: texts with slots, and the corruption of a seat by them. See README.md."""
