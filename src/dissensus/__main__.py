"""``python -m dissensus`` is the command ``dissensus``."""

from __future__ import annotations

from dissensus.cli.main import main

if __name__ == "__main__":
    main(prog_name="dissensus")
