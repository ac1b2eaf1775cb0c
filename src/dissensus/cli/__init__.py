"""The command line: one file per noun. Start at :mod:`dissensus.cli.main`."""
