"""The spec language: kinds with typed options, read from and printed as text and JSON, with tags and exact errors."""

from __future__ import annotations

from intarsia.spec.containers import ListOf, MapOf, Order, SpecOf, list_of_specs
from intarsia.spec.reader import read, read_list
from intarsia.spec.schema import Kind, Option, schema
from intarsia.spec.spec import Level, Placed, Spec
from intarsia.spec.tags import Registry, Tag, TagTable, Variant
from intarsia.spec.types import Bool, Enum, ExecutedPath, Float, Int, Str

__all__ = [
    "Bool",
    "Enum",
    "ExecutedPath",
    "Float",
    "Int",
    "Kind",
    "Level",
    "ListOf",
    "MapOf",
    "Option",
    "Order",
    "Placed",
    "Registry",
    "Spec",
    "SpecOf",
    "Str",
    "Tag",
    "TagTable",
    "Variant",
    "list_of_specs",
    "read",
    "read_list",
    "schema",
]
