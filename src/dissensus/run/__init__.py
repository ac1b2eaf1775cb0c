"""The loop: performs effects and writes the record. Start at :mod:`dissensus.run.engine`."""
