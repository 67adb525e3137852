"""Join tokens: who may enrol, with which rights, how often and until when. Only their hashes are kept.

A plain SHA-256 suffices: a secret has 160 random bits, which no attacker guesses at any speed. Slow hashes guard
passwords that people choose; here they would only let strangers make us work.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from typing import Final, NoReturn

import msgspec

from p2psub.errors import ConfigError
from p2psub.identity.enrolment import SECRET_BYTES, EnrolmentRefused, JoinToken
from p2psub.model.rights import Rights, check_rights

RETRY_S: Final = 600
"""How long the key that used a one-time token may use it again: its grant may have been lost on the way.

It gains nothing by that, for the same key gets the same id. Later it has its certificate, or needs a new token.
"""

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, rights BLOB NOT NULL, reusable INTEGER NOT NULL, note TEXT NOT NULL, made_s INTEGER NOT NULL,
    expires_s INTEGER, revoked INTEGER NOT NULL DEFAULT 0, uses INTEGER NOT NULL DEFAULT 0, used_s INTEGER, used_by BLOB
)
"""


class TokenRecord(msgspec.Struct, frozen=True):
    """What is known of a token; its name is the hash of its secret."""

    name: str
    rights: Rights
    reusable: bool
    note: str
    made_s: int
    expires_s: int | None
    revoked: bool
    uses: int
    used_s: int | None
    used_by: bytes | None

    def may_be_retried(self, public_key: bytes, now_s: float) -> bool:
        return self.used_by == public_key and self.used_s is not None and now_s < self.used_s + RETRY_S


class Tokens:
    """The tokens of one overlay, in its authority's ledger."""

    __slots__ = ("_fingerprint", "_ledger", "_overlay")

    def __init__(self, ledger: sqlite3.Connection, overlay: str, fingerprint: bytes) -> None:
        self._ledger = ledger
        self._overlay = overlay
        self._fingerprint = fingerprint

    def new(self, rights: Rights, reusable: bool, lives_s: int | None, now_s: float, note: str = "") -> str:
        """Make a token; its text is told this once. Without `lives_s` it lives until it is used up or revoked."""
        if lives_s is not None and lives_s <= 0:
            raise ConfigError("lives_s", "a token must live longer than 0 s; give it a minute or more")
        token = JoinToken(self._overlay, secrets.token_bytes(SECRET_BYTES), self._fingerprint)
        expires_s = None if lives_s is None else int(now_s) + lives_s
        self._ledger.execute(
            "INSERT INTO tokens (name, rights, reusable, note, made_s, expires_s) VALUES (?, ?, ?, ?, ?, ?)",
            (_name(token), msgspec.msgpack.encode(check_rights(rights)), reusable, note, int(now_s), expires_s),
        )
        return token.format()

    def list(self) -> tuple[TokenRecord, ...]:
        """Every token ever made, the oldest first."""
        return tuple(map(_record, self._ledger.execute("SELECT * FROM tokens ORDER BY made_s, name")))

    def revoke(self, prefix: str) -> TokenRecord:
        """Let no newcomer use the token whose name begins so; a node that used it keeps its certificate."""
        found = [record for record in self.list() if prefix and record.name.startswith(prefix.lower())]
        if len(found) != 1:
            raise ConfigError("prefix", f"{len(found)} tokens have a name that begins so; see them with `token list`")
        self._ledger.execute("UPDATE tokens SET revoked = 1 WHERE name = ?", (found[0].name,))
        return msgspec.structs.replace(found[0], revoked=True)

    def redeem(self, text: str, public_key: bytes, now_s: float) -> Rights:
        """Use a token for a key and give its rights, or raise EnrolmentRefused; part of the caller's transaction."""
        record = self._find(text)
        if record.revoked:
            _refuse("token_revoked", "the operator took this token back; ask for another")
        if record.uses and not record.reusable:
            if record.may_be_retried(public_key, now_s):
                return record.rights
            _refuse("token_used", "this token was for one node, and one has used it; ask for another")
        if record.expires_s is not None and now_s >= record.expires_s:
            _refuse("token_expired", "this token has run out; ask for another")
        self._ledger.execute(
            "UPDATE tokens SET uses = uses + 1, used_s = ?, used_by = ? WHERE name = ?",
            (int(now_s), public_key, record.name),
        )
        return record.rights

    def _find(self, text: str) -> TokenRecord:
        try:
            token = JoinToken.parse(text)
        except ConfigError as error:
            raise EnrolmentRefused("unknown_token", str(error)) from error
        if (token.overlay, token.fingerprint) != (self._overlay, self._fingerprint):
            _refuse("wrong_overlay", f"this is the bootstrap of {self._overlay!r}; use the address the token came with")
        row = self._ledger.execute("SELECT * FROM tokens WHERE name = ?", (_name(token),)).fetchone()
        if row is None:
            _refuse("unknown_token", "this bootstrap has not made this token; ask its operator for one")
        return _record(row)


def _name(token: JoinToken) -> str:
    return hashlib.sha256(token.secret).hexdigest()


def _record(row: sqlite3.Row) -> TokenRecord:
    columns = dict(row)
    return TokenRecord(
        **columns
        | {
            "rights": msgspec.msgpack.decode(columns["rights"], type=Rights),
            "reusable": bool(columns["reusable"]),
            "revoked": bool(columns["revoked"]),
        }
    )


def _refuse(reason: str, advice: str) -> NoReturn:
    raise EnrolmentRefused(reason, advice)
