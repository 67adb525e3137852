"""Silence, suspicion, a second witness, a verdict; and nobody is condemned for our own slowness."""

from __future__ import annotations

from p2psub.model.ids import Contact
from p2psub.model.messages.liveness import Ping, Pong, WitnessRequest, WitnessResponse
from p2psub.overlay.liveness import Fate, Liveness
from tests.unit.bench import CONFIG, at, node_at, sent, sent_of, step_at

LIMITS = CONFIG.liveness
PEER, WITNESS, OTHER = at(64), at(128), at(192)


class Watch:
    """The node at 1, watching."""

    def __init__(self, *watched: Contact) -> None:
        self.step = step_at(1)
        self.core = Liveness(self.step, LIMITS)
        self.core.watch_only(watched or [PEER])

    def tick(self, count: int = 1, *, hear: tuple[Contact, ...] = ()) -> list[tuple[Contact, Fate]]:
        """Let ticks pass in which only some are heard; the verdicts."""
        verdicts = []
        for _ in range(count):
            self.step.tick += 1
            verdicts += self.core.tick([WITNESS, OTHER])
            for contact in hear:
                self.core.heard(contact.id)
        return verdicts

    def say(self, count: int) -> list[tuple[Contact, Fate]]:
        """Let ticks pass in which a witness hears the peer and we do not."""
        verdicts = []
        for _ in range(count):
            self.core.on_witness_response(WITNESS, WitnessResponse(PEER.id))
            verdicts += self.tick()
        return verdicts


def test_peer_that_is_heard_is_never_pinged_or_suspected() -> None:
    """Any message is a sign of life; an idle overlay with traffic has no pings."""
    watch = Watch()
    assert watch.tick(50, hear=(PEER,)) == []
    assert sent(watch.step) == []


def test_silent_peer_is_pinged_then_witnesses_are_asked_then_it_is_dead() -> None:
    """The stages in their order, each at its tick; two witnesses on every tick of suspicion."""
    watch = Watch()
    watch.tick(LIMITS.ping_after_ticks - 1)
    assert sent(watch.step) == []
    watch.tick()
    assert sent(watch.step) == [(PEER, Ping())]
    assert watch.core.is_suspect(PEER.id)
    watch.tick()
    assert sorted(to.id for to, _ in sent_of(watch.step, WitnessRequest)) == [WITNESS.id, OTHER.id]
    assert watch.tick(LIMITS.dead_after_ticks - LIMITS.suspect_after_ticks - 1) == []
    assert watch.tick() == [(PEER, Fate.DEAD)]
    assert watch.core.is_dead(PEER.id)


def test_death_is_pronounced_once() -> None:
    """Until the peer is heard again; then it is alive, and may die again."""
    watch = Watch()
    assert watch.tick(100) == [(PEER, Fate.DEAD)]
    watch.core.heard(PEER.id)
    assert not watch.core.is_dead(PEER.id)
    assert watch.tick(100) == [(PEER, Fate.DEAD)]


def test_witness_keeps_a_peer_from_being_called_dead() -> None:
    """It is only unreachable for us, and only after a much longer time."""
    watch = Watch()
    assert watch.say(LIMITS.unreachable_after_ticks - 1) == []
    assert watch.say(1) == [(PEER, Fate.UNREACHABLE)]


def test_word_of_a_witness_does_not_last() -> None:
    """When the witness falls silent too, death follows within three ticks."""
    watch = Watch()
    assert watch.say(LIMITS.dead_after_ticks + 2) == []
    assert watch.tick() == []
    assert watch.tick() == [(PEER, Fate.DEAD)]


def test_lost_link_shortens_the_wait_but_kills_nobody() -> None:
    """Suspected on the next tick, dead only by the same silence of peer and witnesses."""
    watch = Watch()
    watch.tick(20, hear=(PEER,))
    watch.core.link_lost(PEER.id)
    assert not watch.core.is_dead(PEER.id)
    watch.tick()
    assert [type(message) for _, message in sent(watch.step)] == [Ping, WitnessRequest, WitnessRequest]
    assert watch.tick(LIMITS.dead_after_ticks - LIMITS.suspect_after_ticks - 1) == []
    assert watch.tick() == [(PEER, Fate.DEAD)]


def test_dead_peer_is_still_pinged_now_and_then() -> None:
    """Otherwise two halves of a healed cut would stay silent to each other for ever."""
    watch = Watch()
    watch.tick(30)
    sent(watch.step)
    watch.tick(16)
    assert sent(watch.step) == [(PEER, Ping())] * 2


def test_watching_on_keeps_the_history() -> None:
    """Naming a peer again must not give it new life; a new one starts fresh, ourselves are never watched."""
    watch = Watch()
    for _ in range(LIMITS.dead_after_ticks - 1):
        assert watch.tick() == []
        watch.core.watch_only([PEER, OTHER, at(1)])
    assert watch.tick() == [(PEER, Fate.DEAD)]
    watch.core.watch_only([PEER])
    assert watch.core.is_dead(PEER.id)
    assert not watch.core.hears_anybody()


def test_witness_that_just_heard_the_suspect_says_so() -> None:
    """Otherwise it asks the suspect, and speaks only when that answers: silence is never made up."""
    watch = Watch()
    watch.core.heard(PEER.id)
    watch.core.on_witness_request(OTHER, WitnessRequest(PEER))
    assert sent(watch.step) == [(OTHER, WitnessResponse(PEER.id))]
    watch.tick()
    watch.core.on_witness_request(OTHER, WitnessRequest(PEER))
    assert sent(watch.step) == [(PEER, Ping())]
    watch.core.heard(PEER.id)
    assert sent(watch.step) == [(OTHER, WitnessResponse(PEER.id))]
    watch.core.heard(PEER.id)
    assert sent(watch.step) == []


def test_old_question_is_not_answered() -> None:
    """A suspect that speaks much later is no evidence for the time that was asked about."""
    watch = Watch()
    watch.core.on_witness_request(OTHER, WitnessRequest(at(50)))
    watch.tick(16, hear=(PEER,))
    sent(watch.step)
    watch.core.heard(node_at(50))
    assert sent(watch.step) == []


def test_ping_and_questions_about_ourselves_are_answered() -> None:
    """We are alive."""
    watch = Watch()
    watch.core.on_ping(PEER, Ping())
    watch.core.on_witness_request(OTHER, WitnessRequest(at(1)))
    assert sent(watch.step) == [(PEER, Pong()), (OTHER, WitnessResponse(node_at(1)))]


def test_suspects_and_the_suspect_itself_are_no_witnesses() -> None:
    """Who is silent himself cannot speak for another."""
    watch = Watch(PEER, WITNESS)
    watch.tick(LIMITS.suspect_after_ticks)
    asked = {(to.id, message.suspect.id) for to, message in sent_of(watch.step, WitnessRequest)}
    assert asked == {(OTHER.id, PEER.id), (OTHER.id, WITNESS.id)}


def test_peer_that_came_back_elsewhere_is_pinged_there() -> None:
    """Its history stays, its old address does not."""
    watch, moved = Watch(), Contact(PEER.id, "elsewhere:1")
    watch.core.watch_only([moved])
    watch.tick(LIMITS.ping_after_ticks)
    assert {to for to, _ in sent_of(watch.step, Ping)} == {moved}


def test_peer_is_heard_from_its_first_word_to_its_death() -> None:
    """One that is only watched has said nothing: nobody may speak of it as alive."""
    watch = Watch()
    heard = [watch.core.hears(PEER.id)]
    watch.core.heard(PEER.id)
    heard.append(watch.core.hears(PEER.id))
    watch.tick(LIMITS.dead_after_ticks + 1)
    assert [*heard, watch.core.hears(PEER.id)] == [False, True, False]
