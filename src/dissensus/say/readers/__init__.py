"""Readers of logs: each turns one format into messages, as a stream."""
