"""The grammar of filters (lark, LALR: no recursion, time linear in the text).

Importing lark and building the tables costs about a tenth of a second, so both wait for the first filter.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from p2psub.matching.hints import END, unexpected
from p2psub.matching.limits import Limits
from p2psub.matching.tokens import Token, tokens_of

if TYPE_CHECKING:
    from lark import Lark
    from lark import Token as Leaf
    from lark.tree import ParseTree

GRAMMAR: Final = r"""
?start: condition
      |                                     -> everything

?condition: conjunction
          | conjunction (OR conjunction)+   -> disjunction
?conjunction: negation
            | negation (AND negation)+
?negation: NOT negation
         | LPAR condition RPAR              -> inner
         | TRUE                             -> everything
         | FALSE                            -> nothing
         | comparison

?comparison: name comparing constant        -> compared
           | constant comparing name        -> mirrored
           | name test                      -> tested
           | name NOT test                  -> untested
           | name IS NULL                   -> missing
           | name IS NOT NULL               -> present

test: BETWEEN constant AND constant         -> between
    | IN members                            -> within
    | LIKE constant (ESCAPE constant)?      -> like
    | STARTS WITH constant                  -> starts
    | ENDS WITH constant                    -> ends
    | CONTAINS constant                     -> contains
    | SUBSET OF members                     -> subset
    | PROPER SUBSET OF members              -> proper_subset

name: NAME | QUOTED | CONTAINS | ENDS | ESCAPE | OF | PROPER | STARTS | SUBSET | WITH
comparing: LESS | LESS_EQUAL | EQUAL | UNEQUAL | GREATER | GREATER_EQUAL
constant: STRING | NUMBER | DATE | TRUE | FALSE | PARAM | set
members: LPAR _list? RPAR | set | PARAM
set: LBRACE _list? RBRACE
_list: constant (COMMA constant)*

%declare OR AND NOT LPAR RPAR TRUE FALSE IS NULL BETWEEN IN LIKE ESCAPE STARTS WITH ENDS CONTAINS SUBSET OF PROPER
%declare NAME QUOTED LESS LESS_EQUAL EQUAL UNEQUAL GREATER GREATER_EQUAL
%declare STRING NUMBER DATE PARAM LBRACE RBRACE COMMA
"""


def parse(text: str, limits: Limits) -> ParseTree:
    """The syntax tree of a filter; what is none raises a FilterError."""
    from lark import UnexpectedToken  # noqa: PLC0415, see above

    session = _parser().parse_interactive()
    seen: list[Token] = []
    for token in itertools.chain(tokens_of(text, limits), [Token(END, "", len(text))]):
        try:
            tree = session.feed_token(_leaf(token))
        except UnexpectedToken:
            raise unexpected(text, seen, token, _accepted_after(seen)) from None
        seen.append(token)
    return cast("ParseTree", tree)


def _accepted_after(seen: list[Token]) -> set[str]:
    """What may follow these tokens. The session that failed no longer knows: it had gone on before it noticed."""
    session = _parser().parse_interactive()
    for token in seen:
        session.feed_token(_leaf(token))
    return set(session.accepts())  # type: ignore[no-untyped-call]


def _leaf(token: Token) -> Leaf:
    from lark import Token as LarkToken  # noqa: PLC0415

    return LarkToken(token.type, token.value, token.at)


@cache
def _parser() -> Lark:
    from lark import Lark  # noqa: PLC0415

    # All terminals are declared: tokens are fed in, and lark's own lexer is left without work.
    return Lark(GRAMMAR, parser="lalr", lexer="basic", maybe_placeholders=False)
