"""Typed messages between agents, protocols as data, and an audit that tells who owes what."""
