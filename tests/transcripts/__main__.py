"""Write the generated blocks of the docs anew."""

from __future__ import annotations

from tests.transcripts.pages import PAGE, rewritten

PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
