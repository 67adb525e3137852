"""Every setting there is, from the configurations themselves: name, kind, default, unit, meaning."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import msgspec

from bootstrap.settings import ServiceConfig
from p2psub.api.settings import NODE, PeerConfig

NODE_FIELD: Final = "node"
"""Peer and bootstrap go by the same numbers: they have a table of their own."""


CONFIG_HELP: Final = "A file of settings; `p2psub config example` prints one. Options and environment come before it."


class Setting(NamedTuple):
    """One thing that a person may decide. `table` and `name` are where it stands in a file."""

    table: str
    name: str
    kind: Any
    """Its type, with limits and unit."""
    default: object
    """None: the setting has no default."""
    is_required: bool
    meaning: str
    unit: str | None
    example: object
    """What to show where there is no default."""
    environment: str

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}"


@cache
def all_settings() -> dict[str, Setting]:
    """Every setting by its path, in the order of the file."""
    rows = [
        *_settings_of("peer", PeerConfig, None),
        *_settings_of("bootstrap", ServiceConfig, None),
        *_settings_of(NODE_FIELD, type(NODE), NODE),
    ]
    return {row.path: row for row in rows}


@cache
def tables() -> dict[str, str]:
    """Every table of the file, and what its settings are about."""
    found = {"peer": _purpose(PeerConfig), "bootstrap": _purpose(ServiceConfig), NODE_FIELD: _purpose(type(NODE))}
    for field in fields(NODE):
        part = getattr(NODE, field.name)
        if is_dataclass(part):
            found[f"{NODE_FIELD}.{field.name}"] = _purpose(type(part))
    return found


def help_of(path: str) -> str:
    """What an option says of a setting: the meaning, the default, the variable."""
    setting = all_settings()[path]
    unit = "" if setting.unit is None else f"{setting.unit}. "
    default = "" if setting.default is None else f"default {_shown(setting.default)}; "
    return f"{unit}{setting.meaning} ({default}variable {setting.environment})"


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _settings_of(table: str, kind: type[Any], given: object) -> Iterator[Setting]:
    hints, meanings = get_type_hints(kind, include_extras=True), _meanings_of(kind)
    for field in fields(kind):
        default = _default_of(field) if given is None else getattr(given, field.name)
        if is_dataclass(default):
            if table.startswith(NODE_FIELD):
                yield from _settings_of(f"{table}.{field.name}", type(default), default)
            continue
        notes = list(_notes(hints[field.name]))
        extra = {name: text for note in notes for name, text in (note.extra or {}).items()}
        example = next((note.examples[0] for note in notes if note.examples), None)
        yield Setting(
            table,
            field.name,
            hints[field.name],
            None if default is MISSING else default,
            default is MISSING,
            meanings[field.name],
            extra.get("unit"),
            example,
            extra.get("environment", _variable(table, field.name)),
        )


def _variable(table: str, name: str) -> str:
    """The environment variable of a setting; those of a peer are spelt without its table."""
    parts = [name] if table == "peer" else [*table.split("."), name]
    return "_".join(["P2PSUB", *parts]).upper()


def _default_of(field: Field[Any]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _notes(hint: object) -> Iterator[msgspec.Meta]:
    """Limits and notes on a type, also on a part of it."""
    for part in get_args(hint):
        if isinstance(part, msgspec.Meta):
            yield part
        else:
            yield from _notes(part)


def _purpose(kind: type[Any]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").splitlines()[0]


def _meanings_of(kind: type[Any]) -> dict[str, str]:
    """The sentence below each field: Python itself does not keep it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found
