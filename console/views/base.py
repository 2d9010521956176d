"""The base of the views of pages: the guard, the frame with its menus, the permitted actions."""

from typing import Any

from django.views.generic import TemplateView

from console.access import Allowed, Guarded, may
from console.conf import conf
from console.pages import Menu, Page, installed
from jobs.services.access.staff import tenants_of


class PageView(Guarded, TemplateView):
    """The view of a page, which `console/pages.py` lists."""

    title = ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the context of the page frame."""
        section = self.page.section if self.page else ""
        more = [page for page in installed() if page.menu is Menu.MORE]
        return super().get_context_data(
            **{
                "navigation": self._open([p for p in installed() if p.menu is Menu.BAR]),
                "more": self._open(more),
                "more_label": next((page.label for page in more if page.name == section), None),
                "section": section,
                "title": self.title,
                "may": Allowed(self.request),
                "is_read_only": conf().read_only,
                "tenant": self.tenant,
                "tenants": tenants_of(self.request.user) if self.tenant else (),
                **kwargs,
            }
        )

    def _open(self, pages: list[Page]) -> list[Page]:
        """Return the pages that this user may see."""
        return [page for page in pages if may(self.request, page.read)]
