"""The app's part in enqueue and fetch."""

from jobs.extensions import Extension, Facts


class Versioning(Extension):
    """Versions of jobs. Spec: job-versioning."""

    def manifest(self) -> Facts:
        """Declare what is there."""
        return Facts(
            "job-versioning",
            "urn:ojs:ext:experimental:job-versioning",
            "0.1.0",
            tier="experimental",
            capabilities={"job_versioning": True},
        )
