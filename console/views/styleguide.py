"""The page of all components of the console, for authors of templates."""

from typing import Any, Final

from console.views.base import PageView

COLORS: Final = (
    ("page", "behind the cards"), ("card", "cards, dialogs, the header"),
    ("line", "borders"), ("soft", "hover, code, chosen entries"),
    ("text", "text"), ("quiet", "labels and notes"),
    ("shade", "the edges of what is cut and scrolls"),
    ("accent", "links and focus"), ("accent-fill", "the primary button"),
    ("blue", "available"), ("green", "completed"), ("amber", "retryable, paused, warnings"),
    ("red", "discarded, errors, dangerous actions"), ("violet", "scheduled, pending"),
    ("grey", "cancelled, expired"),
)  # fmt: skip
BADGES: Final = (
    "scheduled", "pending", "available", "active", "retryable", "completed", "cancelled",
    "expired", "discarded", "paused", "critical", "warning", "notice",
)  # fmt: skip


class Styleguide(PageView):
    """The page; only a server with DEBUG has it."""

    template_name = "ojs/console/styleguide.html"
    title = "Style guide"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the colours and the badges."""
        return super().get_context_data(colors=COLORS, badges=BADGES, **kwargs)
