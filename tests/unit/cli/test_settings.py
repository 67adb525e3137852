"""Settings: every one has a meaning; options over environment over file over default; mistakes are told at once."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bootstrap.settings import ServiceConfig
from p2psub.api.settings import NODE, PeerConfig
from p2psub.cli.config import EXIT_BAD_FILE, example_text
from p2psub.cli.endpoint import BadUsage
from p2psub.cli.exits import EXIT_BAD_INPUT
from p2psub.cli.main import app
from p2psub.cli.settings import all_settings
from p2psub.cli.settings_file import BadSettings, check_file, peer_config, service_config
from p2psub.errors import ConfigError


def written(tmp_path: Path, text: str) -> Path:
    """A file of settings."""
    path = tmp_path / "settings.toml"
    path.write_text(text)
    return path


def leaves_of(table: str, thing: object) -> list[str]:
    """Paths of all numbers of a configuration."""
    assert is_dataclass(thing)
    found = []
    for field in fields(thing):
        value = getattr(thing, field.name)
        found += leaves_of(f"{table}.{field.name}", value) if is_dataclass(value) else [f"{table}.{field.name}"]
    return found


def test_every_field_is_a_setting_with_a_meaning_and_a_variable_of_its_own() -> None:
    """Nothing can be added to a configuration without being explained to whoever sets it."""
    wanted = leaves_of("node", NODE)
    for table, kind in (("peer", PeerConfig), ("bootstrap", ServiceConfig)):
        wanted += [f"{table}.{field.name}" for field in fields(kind) if field.name != "node"]
    assert sorted(all_settings()) == sorted(wanted)
    assert all(setting.meaning.endswith(".") for setting in all_settings().values())
    assert len({setting.environment for setting in all_settings().values()}) == len(wanted)


def test_example_is_the_defaults(tmp_path: Path) -> None:
    """As it is printed it changes nothing; with every default uncommented neither."""
    assert check_file(written(tmp_path, example_text())) == []
    told = re.sub(r"^# (\w+ = .*)$", r"\1", example_text(), flags=re.MULTILINE)
    told = re.sub(r"^token = .*$", "", told, flags=re.MULTILINE)
    file = written(tmp_path, told)
    assert check_file(file) == []
    assert set(tomllib.loads(told)) == {"peer", "bootstrap", "node"}
    peer = peer_config(file, {}, {})
    assert peer.node == NODE
    assert (peer.listen, peer.name, peer.cluster, peer.control_port) == ("127.0.0.1:0", "peer", None, 0)
    assert peer.super_node
    assert service_config(file, {}, {}).overlay == "overlay"


def test_command_line_over_environment_over_file_over_default(tmp_path: Path) -> None:
    """Each layer gives way to the one before it, setting by setting."""
    file = written(
        tmp_path,
        '[peer]\ndata = "f"\nname = "file"\nlisten = "127.0.0.1:1"\ntraces = false\n[node.ring]\nfingers = 5\n'
        "[node]\nheartbeat_us = 5000\n",
    )
    environ = {"P2PSUB_NAME": "environment", "P2PSUB_LISTEN": "127.0.0.1:2", "P2PSUB_NODE_RING_FINGERS": "6"}
    chosen = peer_config(file, {"name": "option", "public_address": None}, environ)
    assert chosen.data == Path("f")
    assert chosen.name == "option"
    assert chosen.listen == "127.0.0.1:2"
    assert not chosen.traces
    assert chosen.node.ring.fingers == 6
    assert chosen.node.heartbeat_us == 5000
    assert chosen.node.pubsub == NODE.pubsub
    assert chosen.super_node


def test_bootstrap_has_a_table_and_variables_of_its_own(tmp_path: Path) -> None:
    """A file may serve a peer and a bootstrap."""
    file = written(tmp_path, '[peer]\ndata = "p"\n[bootstrap]\ndata = "b"\noverlay = "x"\n')
    assert service_config(file, {}, {"P2PSUB_BOOTSTRAP_OVERLAY": "y"}) == ServiceConfig(Path("b"), "y", node=NODE)
    assert peer_config(file, {}, {"P2PSUB_BOOTSTRAP_OVERLAY": "y"}).data == Path("p")


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        ("[peer]\nlistn = 1", 2, "peer.listn", "did you mean listen?"),
        ("[pear]", 1, "pear", "did you mean peer?"),
        ("name = 'x'", 1, "name", "this table is not known"),
        ("node = 5", 1, "node", r"write \[node\]"),
        ("[node]\n\nring.fingers = '3'", 3, "node.ring.fingers", "expected int, got str"),
        ("[node.ring]\nfingers = true", 2, "node.ring.fingers", "expected int, got bool"),
        ("[node]\nring = {fingers = 0}", 2, "node.ring.fingers", "expected int >= 1"),
        ("[node.egress]\nbulk_share = 1.5", 2, "node.egress.bulk_share", "part of 1"),
        ("[node.egress]\nbulk_share = 1.0", 2, "node.egress.bulk_share", "less than 1"),
        ("[node.egress]\nepsilon = 1", 2, "node.egress.epsilon", "nothing would ever be sent"),
        ("[node.pubsub]\ncopies = 9", 2, "node.pubsub.copies", "no more copies"),
        ("[node.liveness]\ndead_after_ticks = 2", 2, "node.liveness.dead_after_ticks", "each later"),
        ("[node.cluster]\nsize_max = 2", 1, "node.cluster.size_target", "rising order"),
        ("[peer]\ndata = ''", 2, "peer.data", "path in quotes"),
        ("[peer]\nbootstrap = 'here'", 2, "peer.bootstrap", "write HOST:PORT"),
        ("[peer]\ntoken = 'abc'", 2, "peer.token", "mistyped"),
        ("[peer]\ncontrol_port = 70000", 2, "peer.control_port", "<= 65535"),
        ("[bootstrap]\noverlay = 'Not So'", 2, "bootstrap.overlay", "cannot be a name"),
        ("[peer]\nname = \nlisten = 1", 2, "file", "not valid TOML"),
    ],
)
def test_mistake_is_told_with_its_line_its_field_and_advice(
    tmp_path: Path, text: str, line: int, field: str, said: str
) -> None:
    """Nothing is taken for what it does not say."""
    (complaint,) = check_file(written(tmp_path, text))
    assert (complaint.line, complaint.field) == (line, field)
    assert re.search(said, str(complaint))
    assert complaint.advice


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """In the order of the lines."""
    file = written(tmp_path, "[peer]\nnam = 'x'\n[node]\nheartbeat_us = 1\n[node.ring]\nfingers = -1\n")
    assert [complaint.line for complaint in check_file(file)] == [2, 4, 6]
    with pytest.raises(BadSettings, match=r"nam: .*\n.*heartbeat_us.*\n.*fingers"):
        peer_config(file, {"data": Path("d")}, {})


@pytest.mark.parametrize(
    ("variable", "value"),
    [("P2PSUB_TRACES", "perhaps"), ("P2PSUB_NODE_RING_FINGERS", "many"), ("P2PSUB_NODE_RING_FINGER", "3")],
)
def test_mistake_in_the_environment_names_the_variable(variable: str, value: str) -> None:
    """Also one that nobody would read."""
    with pytest.raises(BadSettings, match=variable):
        peer_config(None, {"data": Path("d")}, {variable: value})


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("control_port", 99_999, "65535"),
        ("control_port", -1, "0"),
        ("listen", "127.0.0.1", "HOST:PORT"),
        ("public_address", "x", "HOST:PORT"),
        ("cluster", "", "length"),
    ],
)
def test_mistake_in_an_option_names_it(option: str, value: object, word: str) -> None:
    """Held to the limits of the file, before a join token is spent."""
    with pytest.raises(BadSettings, match=f"command line: --{option.replace('_', '-')}: .*{word}"):
        peer_config(None, {"data": Path("d"), option: value}, {})


def test_auto_is_the_name_of_no_cluster() -> None:
    """From the command line and from Python."""
    assert peer_config(None, {"data": Path("d"), "cluster": "auto"}, {}).wanted_cluster is None
    assert PeerConfig(Path("d"), cluster="auto").wanted_cluster is None
    assert PeerConfig(Path("d"), cluster="home").wanted_cluster == "home"


def test_cluster_that_cannot_be_sent_is_refused() -> None:
    """A shell hands on any bytes; the peer would wait for its place for ever."""
    with pytest.raises(ConfigError, match="surrogate"):
        PeerConfig(Path("d"), cluster="\udcff")


def test_variable_that_is_empty_says_nothing() -> None:
    """As shells and unit files leave them."""
    assert peer_config(None, {"data": Path("d")}, {"P2PSUB_NAME": ""}).name == "peer"


def test_data_directory_must_be_named() -> None:
    """With all three ways to do so."""
    with pytest.raises(BadUsage, match=r"--data DIR.*P2PSUB_DATA.*\[peer\]"):
        peer_config(None, {}, {})
    with pytest.raises(BadUsage, match="P2PSUB_BOOTSTRAP_DATA"):
        service_config(None, {}, {})


def test_check_is_for_people_and_programs(tmp_path: Path) -> None:
    """The exit code says it too."""
    good, bad = written(tmp_path, "[peer]\nname = 'x'"), tmp_path / "missing.toml"
    fine = CliRunner().invoke(app, ["config", "check", str(good), "--json"])
    assert (fine.exit_code, json.loads(fine.output)) == (0, {"ok": True, "errors": []})
    missing = CliRunner().invoke(app, ["config", "check", str(bad), "--json"])
    assert missing.exit_code == EXIT_BAD_FILE
    assert json.loads(missing.output)["errors"][0]["field"] == "file"
    assert "cannot be read" in CliRunner().invoke(app, ["config", "check", str(bad)]).output


@pytest.mark.parametrize("command", ["peer", "bootstrap"])
def test_command_without_a_data_directory_is_bad_usage(command: str) -> None:
    """Exit code 2, as for any other thing that is missing; for programs as JSON."""
    assert CliRunner().invoke(app, [command]).exit_code == EXIT_BAD_INPUT
    said = CliRunner().invoke(app, [command, "--json"])
    assert json.loads(said.stdout)["error"]["reason"] == "bad_usage"


def test_peer_refuses_a_bad_file_before_it_does_anything(tmp_path: Path) -> None:
    """No directory is made, no key."""
    file = written(tmp_path, "[peer]\nnonsense = 1")
    result = CliRunner().invoke(app, ["peer", "--config", str(file), "--data", str(tmp_path / "data")])
    assert result.exit_code == 1
    assert "line 2, peer.nonsense" in result.output
    assert not (tmp_path / "data").exists()
