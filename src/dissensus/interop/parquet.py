"""Parquet: the columns of a file, a block at a time. pyarrow is the extra ``parquet``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dissensus.errors import MissingExtra, SpecError
from dissensus.interop.json_lines import NESTED
from dissensus.interop.rows import BLOCK, Rows


def open_parquet(path: str) -> Rows:
    """The rows of a Parquet file.

    Raises:
        MissingExtra: pyarrow is not installed.
        SpecError: it cannot be read.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]
    except ImportError as problem:
        raise MissingExtra("Reading Parquet", extra="parquet") from problem
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as problem:
        raise SpecError(
            f"The file is no Parquet, or damaged: {str(problem).rstrip('.')}.", path=path, next_step="Look at it."
        ) from None
    header = list(file.schema_arrow.names)
    nested = [name for name in NESTED if name in header and pa.types.is_nested(file.schema_arrow.field(name).type)]
    if nested:
        raise SpecError(
            f"The column {nested[0]!r} holds lists or objects.",
            path=path,
            next_step="Write one column a voter, or one row a vote.",
        )
    return Rows(path=path, format="Parquet", header=header, blocks=lambda: _blocks(file))


def _blocks(file: Any) -> Iterator[tuple[int, Sequence[Sequence[Any]]]]:
    start = 1
    for batch in file.iter_batches(batch_size=BLOCK):
        yield start, [column.to_pylist() for column in batch.columns]
        start += batch.num_rows
