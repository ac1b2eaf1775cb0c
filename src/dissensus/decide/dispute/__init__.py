"""Disputes: typed claims, the evidence they point to, and procedures that settle them. Begin in the README."""
