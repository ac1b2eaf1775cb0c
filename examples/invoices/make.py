"""Write a seeded batch of deliveries, each with papers, two reports, the truth and the outcome that is required.

    python examples/invoices/make.py DIR --items 500 --seed 7 [--pdf] [--kinds 3,7] [--misreport forges]

The README beside this file says what is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from batches import write_batch
from draws import Draws
from folders import json_lines, truth_of, write_item
from items import NAMES, SIDES, Style
from kinds import item_of
from misreporting import WAYS, misreport


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description="A seeded batch of orders, delivery notes, a warehouse log and bills.")
    parser.add_argument("folder", type=Path, help="where; has to be new or empty")
    parser.add_argument("--items", type=int, default=16, help="how many (default 16)")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same bytes (default 7)")
    parser.add_argument("--pdf", action="store_true", help="delivery notes as PDF files with text")
    parser.add_argument("--kinds", default="", help="of which kinds, such as 3,7 (default: all 16)")
    parser.add_argument("--misreport", choices=sorted(WAYS), help="have one side of each item, drawn, report so")
    flags = parser.parse_args()
    kinds = tuple(int(kind) for kind in flags.kinds.split(",") if kind) or tuple(NAMES)
    if unknown := [kind for kind in kinds if kind not in NAMES]:
        parser.error(f"there is no kind {unknown[0]}; kinds are 1 to 16")
    if flags.folder.exists() and any(flags.folder.iterdir()):
        parser.error(f"{flags.folder} is not empty")
    truth = []
    for number in range(1, flags.items + 1):
        item = item_of(flags.seed, number, kinds, Style(pdf=flags.pdf))
        if flags.misreport:
            side = Draws(flags.seed, item.name).pick("misreports", SIDES)
            item = misreport(item, flags.misreport, side, flags.seed)
        write_item(flags.folder / "items" / item.name, item)
        truth.append(truth_of(item))
        if sys.stderr.isatty() and (number % 50 == 0 or number == flags.items):
            sys.stderr.write(f"\r{number} of {flags.items} items")
    (flags.folder / "truth.jsonl").write_bytes(json_lines(truth))
    write_batch(flags.folder / "batch", flags.seed, flags.items, kinds, pdf=flags.pdf)
    if sys.stderr.isatty():
        sys.stderr.write("\n")
    print(f"{flags.items} items in {flags.folder / 'items'}, the same as one batch in {flags.folder / 'batch'}")


if __name__ == "__main__":
    main()
