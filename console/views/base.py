"""The base of the views of pages: the guard, the frame with its menus, the permitted actions."""

from typing import Any

from django.views.generic import TemplateView

from console.access import Guarded, frame


class PageView(Guarded, TemplateView):
    """The view of a page, which `console/pages.py` lists."""

    title = ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the context of the page frame."""
        return super().get_context_data(
            **{**frame(self.request, self.page), "title": self.title, **kwargs}
        )
