"""Settings as people give them: command line over environment over file over default. Everything wrong is told at once.

A file is TOML with the tables of `p2psub config example`. A misspelt name would silently mean the default, so unknown
names are refused; and nothing is converted: a number in quotes is not a number.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from bootstrap.settings import ServiceConfig
from p2psub.api.addresses import split_address
from p2psub.api.settings import AUTO, NODE, PeerConfig
from p2psub.cli.endpoint import BadUsage
from p2psub.cli.settings import NODE_FIELD, Setting, all_settings, tables
from p2psub.config import NodeConfig
from p2psub.errors import ConfigError, P2psubError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FILE_BYTES_MAX: Final = 1 << 20
_NODE_VARIABLES: Final = "P2PSUB_NODE_"

C = TypeVar("C", PeerConfig, ServiceConfig)
Chosen = dict[str, object]
"""Values by the path of their setting."""


class Complaint(msgspec.Struct, frozen=True):
    """Something wrong with a setting: where, what, and what to do about it."""

    field: str
    message: str
    advice: str
    line: int | None = None

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}, "
        return f"{where}{self.field}: {self.message}; {self.advice}"


class BadSettings(P2psubError):
    """Settings that cannot be used; all complaints at once."""

    def __init__(self, source: str, complaints: list[Complaint]) -> None:
        super().__init__("\n".join(f"{source}: {complaint}" for complaint in complaints))
        self.complaints = complaints


class Sheet(NamedTuple):
    """What a file says, and what is wrong with it."""

    chosen: Chosen
    complaints: list[Complaint]


def peer_config(
    file: Path | None, options: Mapping[str, object], environ: Mapping[str, str] = os.environ
) -> PeerConfig:
    """The configuration of a peer. An option that is None was not given."""
    return _built(PeerConfig, "peer", file, options, environ)


def service_config(
    file: Path | None, options: Mapping[str, object], environ: Mapping[str, str] = os.environ
) -> ServiceConfig:
    """The configuration of a bootstrap. An option that is None was not given."""
    return _built(ServiceConfig, "bootstrap", file, options, environ)


def check_file(path: Path) -> list[Complaint]:
    """Everything wrong with a file, in the order of its lines."""
    return _read(path).complaints


def _built(
    kind: type[C], table: str, file: Path | None, options: Mapping[str, object], environ: Mapping[str, str]
) -> C:
    sheet = Sheet({}, []) if file is None else _read(file)
    if sheet.complaints:
        raise BadSettings(str(file), sheet.complaints)
    given = _from_options(table, options)
    chosen = {**sheet.chosen, **_from_environment(table, environ), **given}
    own = {name: chosen[f"{table}.{name}"] for name in _names(table) if f"{table}.{name}" in chosen}
    if "data" not in own:
        variable = all_settings()[f"{table}.data"].environment
        raise BadUsage("no data directory is named", f"give --data DIR, or set {variable}, or data in [{table}]")
    if own.get("cluster") == AUTO:
        del own["cluster"]
    return kind(**own, node=_node(chosen))  # type: ignore[arg-type]


def _names(table: str) -> list[str]:
    return [setting.name for setting in all_settings().values() if setting.table == table]


# The command line


def _from_options(table: str, options: Mapping[str, object]) -> Chosen:
    """What was given as options, held to the same limits; addresses before a token is spent on a peer without one."""
    given = {f"{table}.{name}": value for name, value in options.items() if value is not None}
    complaints: list[Complaint] = []
    for path, value in given.items():
        setting = all_settings()[path]
        try:
            if not isinstance(value, Path):
                _converted(setting, value, strict=True)
            if setting.unit == "HOST:PORT" and isinstance(value, str):
                split_address(value)
        except _Unfit as error:
            complaints.append(Complaint(_option(setting), str(error), _advice(setting)))
        except ConfigError as error:
            message, _, advice = error.advice.partition("; ")
            complaints.append(Complaint(_option(setting), message, advice))
    if complaints:
        raise BadSettings("command line", complaints)
    return given


def _option(setting: Setting) -> str:
    return f"--{setting.name.replace('_', '-')}"


# The environment


def _from_environment(table: str, environ: Mapping[str, str]) -> Chosen:
    """What the environment says about this table and the node; a variable that is empty says nothing."""
    chosen: Chosen = {}
    complaints: list[Complaint] = []
    for setting in all_settings().values():
        text = environ.get(setting.environment)
        if not text or not (setting.table == table or setting.table.startswith(NODE_FIELD)):
            continue
        try:
            chosen[setting.path] = _converted(setting, text, strict=False)
        except _Unfit as error:
            complaints.append(Complaint(setting.environment, str(error), _advice(setting)))
    complaints += _unknown_variables(environ)
    if complaints:
        raise BadSettings("environment", complaints)
    return chosen


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[Complaint]:
    """Those that only the node can be meant by; others that begin with P2PSUB_ may be another program's."""
    known = [setting.environment for setting in all_settings().values()]
    for name in environ:
        if name.startswith(_NODE_VARIABLES) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            yield Complaint(name, "this setting is not known", f"did you mean {near[0]}?" if near else "unset it")


# The file


def _read(path: Path) -> Sheet:
    try:
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX).decode()
    except OSError as error:
        return _unreadable(f"cannot be read ({error.strerror})", "check the path; `p2psub config example` prints one")
    except UnicodeDecodeError:
        return _unreadable("is not text", "write it in UTF-8")
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at line (\d+)", str(error))
        message = str(error) if found is None else str(error)[: found.start()]
        line = None if found is None else int(found[1])
        return Sheet({}, [Complaint("file", f"is not valid TOML: {message}", "see `p2psub config example`", line)])
    chosen: Chosen = {}
    complaints = list(_complaints(told, chosen))
    lines = _lines_of(text)
    placed = [msgspec.structs.replace(one, line=_line(lines, one.field)) for one in complaints]
    return Sheet(chosen, sorted(placed, key=lambda one: one.line or 0))


def _unreadable(message: str, advice: str) -> Sheet:
    return Sheet({}, [Complaint("file", message, advice)])


def _complaints(told: dict[str, object], chosen: Chosen) -> Iterator[Complaint]:
    """What is wrong; what is right is put into `chosen`."""
    yield from _walk("", told, chosen)
    for table in ("peer", "bootstrap"):
        yield from _objections(table, chosen)
    try:
        _node(chosen)
    except ConfigError as error:
        yield Complaint(f"{NODE_FIELD}.{error.field}", error.advice, "see `p2psub config example` for the defaults")


def _walk(table: str, told: dict[str, object], chosen: Chosen) -> Iterator[Complaint]:
    for name, value in told.items():
        path = f"{table}.{name}" if table else name
        setting = all_settings().get(path)
        if path in tables():
            if isinstance(value, dict):
                yield from _walk(path, value, chosen)
            else:
                yield Complaint(path, "is a table", f"write [{path}], and its settings below")
        elif setting is None:
            yield _unknown(table, name, path)
        else:
            try:
                chosen[path] = _converted(setting, value, strict=True)
            except _Unfit as error:
                yield Complaint(path, str(error), _advice(setting))


def _unknown(table: str, name: str, path: str) -> Complaint:
    inner = [below.removeprefix(f"{table}.") for below in tables() if table and below.startswith(f"{table}.")]
    known = [*_names(table), *inner] if table else list(tables())
    near = difflib.get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return Complaint(path, "this setting is not known" if table else "this table is not known", advice)


class _Unfit(Exception):
    """A value that a setting cannot have."""


def _converted(setting: Setting, value: object, *, strict: bool) -> object:
    try:
        return msgspec.convert(value, setting.kind, strict=strict, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise _Unfit(re.sub(r" - at `.*", "", str(error)).lower().replace("`", "")) from error


def _path(kind: type[Any], value: object) -> object:
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    raise msgspec.ValidationError("expected a path in quotes")


def _advice(setting: Setting) -> str:
    shown = setting.example if setting.default is None else setting.default
    unit = "" if setting.unit is None or isinstance(shown, str) else f" ({setting.unit})"
    return f"write for example {toml_value(shown)}{unit}"


def _objections(table: str, chosen: Chosen) -> Iterator[Complaint]:
    """What is of the right type, and yet cannot be."""
    from p2psub.identity.certificates import check_overlay  # noqa: PLC0415, `--help` must be quick
    from p2psub.identity.enrolment import JoinToken  # noqa: PLC0415

    checks: dict[str, Callable[[str], object]] = {"peer.token": JoinToken.parse, "bootstrap.overlay": check_overlay}
    for setting in all_settings().values():
        value = chosen.get(setting.path)
        check = split_address if setting.unit == "HOST:PORT" else checks.get(setting.path)
        if setting.table == table and isinstance(value, str) and check is not None:
            try:
                check(value)
            except ConfigError as error:
                message, _, advice = error.advice.partition("; ")
                yield Complaint(setting.path, message, advice)


def _node(chosen: Chosen) -> NodeConfig:
    """The numbers: what was chosen over the defaults; ConfigError if they do not fit together."""
    return _overlaid(NODE, NODE_FIELD, chosen)


D = TypeVar("D", bound="DataclassInstance")


def _overlaid(base: D, table: str, chosen: Chosen) -> D:
    changed: dict[str, Any] = {}
    for field in fields(base):
        path, value = f"{table}.{field.name}", getattr(base, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            changed[field.name] = _overlaid(value, path, chosen)
        elif path in chosen:
            changed[field.name] = chosen[path]
    return replace(base, **changed)


_HEADER: Final = re.compile(r"\s*\[\s*([\w.\s-]+?)\s*\]")
_KEY: Final = re.compile(r"\s*([\w.-]+)\s*=")


def _lines_of(text: str) -> dict[str, int]:
    """Where tables and settings stand. Who quotes names or nests tables in braces is shown the line of the table."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = re.sub(r"\s", "", header[1])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault(f"{table}.{key[1]}" if table else key[1], number)
    return found


def _line(lines: dict[str, int], path: str) -> int | None:
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path)


def toml_value(value: object) -> str:
    """A value as TOML spells it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Path):
        return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{value:_}" if isinstance(value, int) else repr(value)
