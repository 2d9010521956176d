"""The hooks of encryption into the core: the refusal of plaintext, and the manifest."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from encryption.conf import conf
from encryption.errors import PlaintextRefused
from jobs.domain.access.caller import Caller
from jobs.domain.access.keys import allowed
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.extensions import EnqueueHooks, Facts, ReportHooks
from ojs_tasks.codecs.payload import has_encoded
from ojs_tasks.versions import split_type


class Encryption(EnqueueHooks, ReportHooks):
    """Codecs run in clients and workers; the server stores what it is given."""

    @override
    def refusals(
        self, drafts: Sequence[JobDraft], caller: Caller, config_version: int
    ) -> Mapping[int, OJSError]:
        """Return the drafts of types that refuse plaintext and have some."""
        globs = conf().require_encoded
        if not globs:
            return {}
        return {
            place: _refused(draft)
            for place, draft in enumerate(drafts)
            if allowed(split_type(draft.type)[0], globs)
            and draft.args
            and not has_encoded(draft.args)
        }

    @override
    def manifest(self) -> Sequence[Facts]:
        """Declare the extension, with the address of the codec server if there is one."""
        url = conf().codec_server_url
        return (
            Facts(
                "encryption",
                "urn:ojs:ext:experimental:encryption",
                "1.0.0",
                tier="experimental",
                capabilities={"encryption": True},
                details={"codec_server_url": url} if url else {},
            ),
        )


def _refused(draft: JobDraft) -> PlaintextRefused:
    return PlaintextRefused(
        f"args of {draft.type} must be encoded",
        details={"field": "args", "type": draft.type},
    )
