"""The base class of all endpoints of the federation. Spec: contract 23.7, 31."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView

READS = frozenset({"GET", "HEAD", "OPTIONS"})


class FederationView(OJSView):
    """Keeps a key that is bound to a region from acting for another region.

    The view checks the region of the path. A handler whose body names a region calls `for_region`.
    """

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check access, and the region that the path names."""
        super().initial(request, *args, **kwargs)
        region_id = kwargs.get("region_id")
        method = request.method or ""
        # a method without a permit is answered with 405
        is_change = method not in READS and self.required(method) is not None
        if region_id is not None and is_change:
            self.for_region(region_id, "region_id")

    def for_region(self, region: str, field: str) -> None:
        """Refuse a key of another region; `field` names the region. Raises PermissionDenied."""
        self.principal.require_region(region, field)
