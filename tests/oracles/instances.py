"""Arbitrary instances of any type of the model, made from its type hints alone: a new message needs no new test."""

from __future__ import annotations

import enum
from functools import cache
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as mi

from p2psub.model.messages import AnyMessage, Message

MESSAGE_CLASSES: tuple[type[Message], ...] = get_args(AnyMessage)

INT_MIN, INT_MAX = -(2**63), 2**64 - 1
"""What MessagePack can carry."""


@cache
def instances_of(cls: type) -> st.SearchStrategy[Any]:
    """Every value of a type that equals itself: no NaN."""
    return _strategy(mi.type_info(cls))


def _strategy(info: mi.Type) -> st.SearchStrategy[Any]:  # noqa: PLR0912, a table of types
    match info:
        case mi.BoolType():
            return st.booleans()
        case mi.IntType():
            return st.integers(INT_MIN if info.ge is None else info.ge, INT_MAX if info.le is None else info.le)
        case mi.FloatType():
            return st.floats(info.ge or info.gt, info.le, exclude_min=info.gt is not None, allow_nan=False)
        case mi.NoneType():
            return st.none()
        case mi.BytesType():
            return st.binary(min_size=info.min_length or 0, max_size=30 if info.max_length is None else info.max_length)
        case mi.StrType():
            if info.pattern is not None:
                return st.from_regex(info.pattern, fullmatch=True)
            return st.text(min_size=info.min_length or 0, max_size=12)
        case mi.EnumType():
            return st.sampled_from(list(info.cls))
        case mi.UnionType():
            return st.one_of(*map(_strategy, info.types))
        case mi.VarTupleType():
            return st.lists(_strategy(info.item_type), min_size=info.min_length or 0, max_size=3).map(tuple)
        case mi.TupleType():
            return st.tuples(*map(_strategy, info.item_types))
        case mi.FrozenSetType():
            return st.frozensets(_strategy(info.item_type), max_size=4)
        case mi.ListType():
            return st.lists(_strategy(info.item_type), max_size=3)
        case mi.DictType():
            return st.dictionaries(_strategy(info.key_type), _strategy(info.value_type), max_size=4)
        case mi.StructType() | mi.NamedTupleType():
            return st.builds(info.cls, *(_strategy(field.type) for field in info.fields))
        case _:
            raise NotImplementedError(f"no strategy for {info}")


def wire_shape(value: object) -> object:
    """What a value must look like to somebody who knows MessagePack and nothing of us."""
    match value:
        case enum.Enum():
            return value.value
        case msgspec.Struct():
            fields = {name: wire_shape(getattr(value, name)) for name in value.__struct_fields__}
            if not value.__struct_config__.array_like:
                return fields
            tag = value.__struct_config__.tag
            return [*([tag] if tag is not None else []), *fields.values()]
        case tuple() | list() | frozenset():
            return [wire_shape(item) for item in value]
        case dict():
            return {name: wire_shape(item) for name, item in value.items()}
        case _:
            return value


def exact(value: object) -> object:
    """A value with its types: under `==` alone, True, 1 and 1.0 are the same."""
    match value:
        case msgspec.Struct():
            return type(value), [exact(getattr(value, name)) for name in value.__struct_fields__]
        case tuple() | list():
            return type(value), [exact(item) for item in value]
        case frozenset():
            return type(value), frozenset((type(item), item) for item in value)
        case dict():
            return {name: exact(item) for name, item in value.items()}
        case _:
            return type(value), value
