"""The words that procedures and the engine share. Start at :mod:`dissensus.script.effects`."""
