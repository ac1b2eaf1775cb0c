"""A batch of items reported by parties, met in cases, spot-checked and tried with planted faults. Start at ``batch.py``."""
