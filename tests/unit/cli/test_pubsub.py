"""`p2psub pub` and `p2psub sub` against a served fake peer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from p2psub.api.errors import NotReady
from p2psub.api.items import Gap
from p2psub.api.schemas import SubscribeRequest
from p2psub.cli import pubsub
from p2psub.cli.exits import EXIT_BAD_INPUT, EXIT_NO_PEER, EXIT_REFUSED
from p2psub.cli.pubsub import advertise, pub, sub
from p2psub.model.content import Draft, Guarantee, Moment
from p2psub.model.outcomes import SubscribeVerdict, VerdictStatus
from p2psub.model.rates import RATE_ONE, Demand
from p2psub.model.reasons import Reason
from tests.unit.runtime.control.fakes import NODE
from tests.unit.runtime.control.served import Served

app = typer.Typer()
app.command()(pub)
app.command()(sub)
app.command()(advertise)

EVENT_1 = f"{NODE.id.hex()}.5.1"


def run(*words: str, data: Path | None = None, stdin: str | bytes | None = None) -> Result:
    """A command, as the shell would call it."""
    place = [] if data is None else ["--data", str(data)]
    return CliRunner().invoke(app, [*words, *place], input=stdin)


def test_pub_publishes_what_was_typed(peer: Served) -> None:
    """Typed attributes, body, retention and guarantee; the outcome is told, and claims nothing that nobody counts."""
    words = ["pub", "quotes/ACME", "price=12.5", "at=@1970-01-01", "tags={a,1}", "--body", "hällo", "--retain", "3"]
    result = run(*words, "--guarantee", "at_most_once", data=peer.data)
    assert result.exit_code == 0, result.output
    assert f"{EVENT_1}: at most once, so copies and matches are not known" in result.stdout
    attributes = {"price": 12.5, "at": Moment(0), "tags": frozenset(["a", 1])}
    assert peer.peer.published == [
        Draft("quotes/ACME", attributes, "hällo".encode(), 3.0, Guarantee.AT_MOST_ONCE)  # type: ignore[arg-type]
    ]


def test_pub_tells_copies_and_matches(peer: Served) -> None:
    """Of what is promised."""
    result = run("pub", "t", data=peer.data)
    assert f"{EVENT_1}: 3 copies, matched 0 subscriptions" in result.stdout


def test_pub_takes_a_body_of_bytes_from_a_file(peer: Served, tmp_path: Path) -> None:
    """Any bytes."""
    (tmp_path / "body").write_bytes(b"\xff\x00")
    assert run("pub", "t", "--body-file", str(tmp_path / "body"), data=peer.data).exit_code == 0
    assert peer.peer.published == [Draft("t", {}, b"\xff\x00")]


def test_pub_answers_in_json(peer: Served) -> None:
    """The outcome as the control API gives it."""
    result = run("pub", "t", "--json", data=peer.data)
    assert json.loads(result.stdout) == {"event": EVENT_1, "copies": 3, "matched": 0}


def test_pub_reads_stdin_line_by_line(peer: Served) -> None:
    """Each event is answered by a line; one that is refused makes the exit code 1 and stops no other."""
    lines = '{"topic": "a", "attributes": {"n": 1}}\n\nnonsense\n{"topic": "b"}'
    result = run("pub", "-", data=peer.data, stdin=lines)
    assert result.exit_code == EXIT_REFUSED
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [
        f"published {EVENT_1}",
        f"published {NODE.id.hex()}.5.2",
    ]
    assert "event 2: the request is not valid JSON" in result.stderr
    assert peer.peer.published == [Draft("a", {"n": 1}), Draft("b")]


def test_pub_from_stdin_speaks_json(peer: Served) -> None:
    """Outcomes and problems go to stdout, in the order of the lines."""
    result = run("pub", "-", "--json", data=peer.data, stdin='{"topic": "a"}\n{"topic": "secret"}\n')
    said = [json.loads(line) for line in result.stdout.splitlines()]
    assert said[0]["event"] == EVENT_1
    assert said[1]["error"]["reason"] == "not_authorized"
    assert result.exit_code == EXIT_REFUSED


def test_pub_of_nothing_is_fine(peer: Served) -> None:
    """An empty stdin publishes nothing."""
    assert run("pub", "-", data=peer.data, stdin="").exit_code == 0
    assert not peer.peer.published


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["pub", "t", "price"], "price=12.5"),
        (["pub", "t", "at=@never"], "2026-01-31"),
        (["pub", ""], "quotes/ACME"),
        (["pub", "t", "--body", "a", "--body-file", "b"], "not both"),
        (["pub", "t", "--body-file", "/nowhere/at/all"], "that is there"),
        (["pub", "-", "a=1"], "into the lines"),
        (["pub", "t", "--guarantee", "twice"], "at_most_once"),
        (["sub", "--filter", "price >"], "write one, such as price > 10"),
        (["sub", "--filter", "a = :b", "--param", "b"], "price=12.5"),
        (["sub", "--filter", "a = 1", "--count", "0"], "count"),
        (["sub", "price >"], "write one, such as price > 10"),
        (["sub", "quotes/ACME", "--filter", "a = 1"], "not both"),
        (["sub", "quotes/*"], "topic LIKE 'quotes/%'"),
    ],
)
def test_bad_input_is_exit_code_2_and_advice(peer: Served, words: list[str], advice: str) -> None:
    """Nothing is published."""
    result = run(*words, data=peer.data)
    assert result.exit_code == EXIT_BAD_INPUT, result.output
    assert advice in result.stderr
    assert not peer.peer.published


def test_a_filter_at_fault_is_shown_with_a_caret(peer: Served) -> None:
    """Below the place."""
    result = run("sub", "--filter", "price >", data=peer.data)
    assert "\n  price >\n         ^\n" in result.stderr


@pytest.mark.parametrize("words", [["pub", "secret"], ["sub", "--filter", "secret"]])
def test_a_refusal_is_exit_code_1(peer: Served, words: list[str]) -> None:
    """With the peer's advice; as JSON if asked for."""
    result = run(*words, data=peer.data)
    assert result.exit_code == EXIT_REFUSED
    assert "ask for a token" in result.stderr
    result = run(*words, "--json", data=peer.data)
    assert json.loads(result.stdout)["error"]["reason"] == "not_authorized"


@pytest.mark.parametrize("words", [["pub", "t"], ["pub", "-"], ["sub", "--filter", "a = 1"]])
def test_no_peer_is_exit_code_4(tmp_path: Path, words: list[str]) -> None:
    """With how to start one."""
    result = run(*words, data=tmp_path, stdin='{"topic": "a"}')
    assert result.exit_code == EXIT_NO_PEER
    assert f"p2psub peer --data {tmp_path}" in result.stderr


def test_no_peer_named_is_bad_input() -> None:
    """With how to name one."""
    result = run("pub", "t")
    assert result.exit_code == EXIT_BAD_INPUT
    assert "--data DIR" in result.stderr


def start(name: str, peer: Served, *words: str) -> subprocess.Popen[str]:
    """A command as a process of its own, with Ctrl-C as in a terminal, however these tests were started."""
    terminal = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{terminal}; import typer; from p2psub.cli.pubsub import {name}; typer.run({name})"
    command = [sys.executable, "-c", code, "--data", str(peer.data), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], ""),
        ([""], ""),
        (["quotes/ACME"], "topic = 'quotes/ACME'"),
        (["price>10"], "price>10"),
        (["price > 10"], "price > 10"),
        (["--filter", "price > 10"], "price > 10"),
    ],
)
def test_sub_takes_a_topic_or_a_filter_or_everything(
    words: list[str], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word is a topic; what compares is a filter."""
    asked: list[SubscribeRequest] = []
    monkeypatch.setattr(pubsub, "_hold", lambda request, *_: asked.append(request))
    result = run("sub", *words)
    assert (result.exit_code, [request.filter for request in asked]) == (0, [wanted]), result.output


def test_sub_prints_events_until_it_has_enough(peer: Served) -> None:
    """Events to stdout; the verdict, better ones and gaps to stderr; then the subscription ends."""
    with start("sub", peer, "--filter", "topic = 'a'", "--param", "p=1.5", "--replay", "--count", "2") as process:
        subscription = peer.subscription(0)
        assert (subscription.params, subscription.replay) == ({"p": 1.5}, True)
        run("pub", "a", "n=1", "name=x y", "--body", "\x1b[2J", data=peer.data)
        peer.call(subscription.put, Gap(3, Reason.SPOOL_FULL))
        peer.call(subscription.put, Gap(0, Reason.LAPSED))
        peer.call(subscription.put, SubscribeVerdict(subscription.id, VerdictStatus.STABLE))
        run("pub", "a", data=peer.data)
        out, err = process.communicate()
    assert process.returncode == 0
    assert out.splitlines() == ['a n=1 name="x y" body="\\u001b[2J"', "a"]
    assert "not yet stored in red" in err
    assert "3 events are missing here: spool_full" in err
    assert "events may be missing here: lapsed" in err
    assert "in every cluster" in err
    peer.wait(subscription.ended.wait)


def test_sub_says_what_is_advertised_of_it(peer: Served) -> None:
    """One figure where it is known, bounds where it is not; and nothing if nothing is advertised."""
    with start("sub", peer, "--filter", "price > 2", "--count", "1") as process:
        subscription = peer.subscription(0)
        for demand in (
            Demand(0, 0, 0, 0),
            Demand(18 * RATE_ONE, 31 * RATE_ONE, 3, 6),
            Demand(RATE_ONE, RATE_ONE, 1, 1),
        ):
            verdict = SubscribeVerdict(subscription.id, VerdictStatus.STABLE, demand=demand)
            peer.call(subscription.put, verdict)
        run("pub", "a", "price=3", data=peer.data)
        _, err = process.communicate()
    assert [line.partition("every cluster")[2] for line in err.splitlines()[1:]] == [
        "",
        "; advertised: 18 to 31 a second, by 3 to 6 publishers",
        "; advertised: 1 a second, by 1 publisher",
    ]


def test_sub_speaks_json(peer: Served) -> None:
    """Every line as the control API gives it, the verdict first."""
    with start("sub", peer, "--filter", "topic = 'a'", "--count", "1", "--json") as process:
        peer.subscription(0)
        run("pub", "a", data=peer.data)
        out, _ = process.communicate()
    said = [json.loads(line) for line in out.splitlines()]
    assert [list(line) for line in said] == [["verdict"], ["event"]]


def test_ctrl_c_is_how_sub_ends(peer: Served) -> None:
    """Exit code 0, without a traceback, and the subscription ends."""
    with start("sub", peer, "--filter", "topic = 'a'") as process:
        assert process.stderr
        assert "subscribed as" in process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "")
    peer.wait(peer.subscription(0).ended.wait)


def test_advertise_holds_until_ctrl_c(peer: Served) -> None:
    """Verdicts go to stderr; parameters arrive typed."""
    filter_ = ["--filter", "price > :least", "--param", "least=10", "--rate", "2.5"]
    with start("advertise", peer, *filter_) as process:
        assert process.stderr
        assert "advertised as" in process.stderr.readline()
        (offer,) = peer.peer.advertisements
        assert (offer.offered, offer.params, offer.rate) == ("price > :least", {"least": 10}, 2.5)
        peer.call(offer.judge, VerdictStatus.STABLE)
        assert "in every cluster" in process.stderr.readline()
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "")
    peer.wait(offer.ended.wait)


def test_advertise_speaks_json(peer: Served) -> None:
    """One object a line, on stdout."""
    with start("advertise", peer, "--filter", "", "--rate", "1", "--json") as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["advertised"]["status"] == "accepted"
        os.kill(process.pid, signal.SIGINT)
        process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("words", [("sub", "\udcff"), ("sub", "a = '\udcff'"), ("advertise", "\udcff", "--rate", "1")])
def test_a_filter_that_is_not_text_is_bad_input(peer: Served, words: tuple[str, ...]) -> None:
    """A shell hands on any bytes."""
    result = run(*words, data=peer.data)
    assert result.exit_code == EXIT_BAD_INPUT
    assert "UTF-8" in result.stderr


@pytest.mark.parametrize("rate", ["0", "-3", "nan", "inf"])
def test_a_rate_must_be_above_0(peer: Served, rate: str) -> None:
    """The command says so itself, in words."""
    result = run("advertise", "quotes/ACME", "--rate", rate, data=peer.data)
    assert result.exit_code == EXIT_BAD_INPUT
    assert "rate must be above 0" in result.stderr


def test_sub_that_loses_its_peer_says_so(peer: Served) -> None:
    """Exit code 4, with how to start it again."""
    with start("sub", peer, "--filter", "topic = 'a'") as process:
        assert process.stderr
        process.stderr.readline()
        peer.stop()
        _, err = process.communicate()
    assert process.returncode == EXIT_NO_PEER
    assert f"p2psub peer --data {peer.data}" in err


@pytest.mark.parametrize("ending", ["refused", "error"])
def test_sub_that_is_ended_by_the_overlay_fails(peer: Served, ending: str) -> None:
    """Exit code 1, with the reason."""
    with start("sub", peer, "--filter", "topic = 'a'") as process:
        subscription = peer.subscription(0)
        refusal = SubscribeVerdict(subscription.id, VerdictStatus.REFUSED, (), Reason.VOTED_DOWN)
        item = refusal if ending == "refused" else NotReady("the peer is leaving", "start it again")
        peer.call(subscription.put, item)
        _, err = process.communicate()
    assert process.returncode == EXIT_REFUSED
    assert ("was refused, voted_down; ask for less" if ending == "refused" else "start it again") in err


def test_deadline_price_penalty_and_timeout_are_said_in_words(peer: Served) -> None:
    """As people say them; what no peer takes is bad input, before a peer is asked."""
    assert run("pub", "t", "--timeout", "200ms", data=peer.data).exit_code == 0
    assert peer.peer.published == [Draft("t", timeout_us=200_000)]
    for words in (["pub", "t", "--timeout", "0s"], ["sub", "t", "--deadline", "soon"], ["sub", "t", "--price", "-1"]):
        result = run(*words, data=peer.data)
        assert result.exit_code == EXIT_BAD_INPUT, result.output
