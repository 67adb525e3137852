"""What the console printed."""

from __future__ import annotations

import io
import threading


class Screen(io.StringIO):
    """What was printed; other threads may print too."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def write(self, text: str) -> int:
        with self._changed:
            self._changed.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        """Return when the text has been printed."""
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.getvalue(), timeout=60), self.getvalue()
