"""Mechanical verifiers: they look at the steps in a text and not at who wrote them. Pure; see README.md."""
