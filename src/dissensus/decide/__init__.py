"""Procedures by which a panel decides. Pure: they yield effects and are sent outcomes (:mod:`dissensus.script`)."""
