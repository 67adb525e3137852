"""An advertisement as the application holds it."""

from __future__ import annotations

from p2psub.api.errors import AdvertisementRefused, Refusal
from p2psub.model.ids import SubscriptionId
from p2psub.model.outcomes import AdvertiseVerdict
from p2psub.runtime.handle import Handle


class AdvertisementHandle(Handle[AdvertiseVerdict]):
    """Stands while its block runs; `verdict` says who knows of it by now."""

    @property
    def id(self) -> SubscriptionId:
        return self.verdict.advertisement

    def refusal(self) -> Refusal:
        return AdvertisementRefused(self.verdict.reason)

    def put(self, verdict: AdvertiseVerdict) -> None:
        """The node hands a verdict in."""
        self._judge(verdict)
