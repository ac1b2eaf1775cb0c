"""The record: what happened in a run, in order, append-only and tamper-evident.

Start reading at :mod:`dissensus.record.store`. The modules are imported one by one, so that pure packages can use
:mod:`dissensus.record.event` without SQLite.
"""
