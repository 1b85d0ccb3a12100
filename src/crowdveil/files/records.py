"""Schemas, as JSON or YAML, and tables of records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from crowdveil.certificates.certificate import of_synthetic
from crowdveil.engines import Engine
from crowdveil.errors import InputError, ParameterError
from crowdveil.files.certificates import write_with_certificate
from crowdveil.files.reading import read_columns, read_here
from crowdveil.files.reservation import Reservation
from crowdveil.files.writing import whole_file, write_table
from crowdveil.records import Records, Schema
from crowdveil.signing import SigningKey
from crowdveil.synthesis.result import Synthetic

if TYPE_CHECKING:
    from crowdveil.engines.spark import SparkRecords

_YAML = (".yaml", ".yml")


def read_schema(path: Path) -> Schema:
    """A schema from a file: YAML if its name ends in .yaml or .yml, and JSON otherwise."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text") from None
    is_yaml = path.suffix.lower() in _YAML
    try:
        told = _from_yaml(text) if is_yaml else json.loads(text, object_pairs_hook=_once)
        return Schema.from_dict(told)
    except ParameterError as error:
        raise InputError(f"{path}: {error}") from None
    except (TypeError, ValueError, RecursionError, yaml.YAMLError):
        raise InputError(f"{path}: this is not {'YAML' if is_yaml else 'JSON'} that can be read") from None


def write_schema(schema: Schema, path: Path, *, force: bool) -> None:
    """A schema as a file: YAML if its name says so, and JSON otherwise."""
    told = schema.to_dict()
    with whole_file(path, force=force) as draft:
        text = json.dumps(told, allow_nan=False, indent=2, ensure_ascii=False) + "\n"
        if path.suffix.lower() in _YAML:
            text = yaml.safe_dump(told, allow_unicode=True, sort_keys=False)
        draft.write_text(text, encoding="utf-8")


def read_records(path: str, schema: Schema, *, clamp: bool = False) -> Records:
    """Records from a CSV (also gzipped) or Parquet file; "-" is standard input."""
    frame, label = read_columns(path, schema.names)
    return Records.from_frame(frame, schema, source=label, clamp=clamp)


def read_records_for(
    path: str, schema: Schema, engine: Engine | None, *, clamp: bool = False
) -> Records | SparkRecords:
    """Records where the engine wants them: from a file, or from what Spark's workers read."""
    if read_here(path, engine):
        return read_records(path, schema, clamp=clamp)
    from crowdveil.files.spark_table import SparkTable

    return SparkTable(path, engine).records(schema, clamp=clamp)


def write_records(records: Records, path: str, *, force: bool, midpoints: bool = False) -> None:
    """Records as a table; "-" is CSV on standard output."""
    write_table(records.to_frame(midpoints=midpoints), path, force=force)


def write_synthetic(synthetic: Synthetic, place: Reservation | None, key: SigningKey | None = None) -> None:
    """Synthetic records with their certificate, signed by `key`."""
    write_with_certificate(synthetic.records.to_frame(), of_synthetic(synthetic), place, key)


def _once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """A mapping of pairs; a key that is there twice is refused, as one of its values would be lost."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ParameterError("some name is there twice")
    return mapping


def _from_yaml(text: str) -> Any:
    """A schema as JSON would have it: edges are numbers, and missing is a truth value."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.BaseLoader)):
        raise ParameterError("a schema has no aliases (names after *)")
    told = _plain(yaml.compose(text, Loader=yaml.BaseLoader))
    if not isinstance(told, dict):
        return told
    _judge(told, "declared")
    columns = told.get("columns")
    for column in columns.values() if isinstance(columns, dict) else ():
        if isinstance(column, dict):
            _judge(column, "missing")
            if isinstance(column.get("edges"), list):
                column["edges"] = [_number(edge) for edge in column["edges"]]
    return told


def _plain(node: Any) -> Any:
    """Texts, lists and mappings as they are written: yes is no truth value, and 007 is not 7."""
    if isinstance(node, yaml.MappingNode):
        return _once([(_plain(key), _plain(value)) for key, value in node.value])
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each) for each in node.value]
    return None if node is None else node.value


def _judge(told: dict[Any, Any], key: str) -> None:
    truths = {"true": True, "false": False}
    if isinstance(told.get(key), str):
        told[key] = truths.get(told[key].lower(), told[key])


def _number(edge: Any) -> Any:
    try:
        return float(edge)
    except (TypeError, ValueError):
        return edge
