"""A batch that parties report on: cases, spot checks, planted faults. Start at ``batch.py``, then ``running.py``."""
