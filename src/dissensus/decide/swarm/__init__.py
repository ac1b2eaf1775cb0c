"""A batch shared out among agents that work from different sources. Start at ``work.py``, then ``reports.py``."""
