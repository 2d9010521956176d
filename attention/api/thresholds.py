"""Endpoints below /ojs/v1/admin/attention/thresholds: the settings of rules."""

from rest_framework.request import Request

from attention.api import codec
from attention.services import thresholds
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, array, component, integer, obj, optional, text
from jobs.api.wire.answer import Answer

EXTENSION = "attention"
NUMBERS = {"type": "object", "additionalProperties": integer()}
OVERRIDES = {"type": "object", "additionalProperties": NUMBERS}
THRESHOLD = obj(
    {
        "name": text(1),
        "label": text(1),
        **{name: integer() for name in ("value", "default", "minimum", "maximum")},
    }
)
RULE = component(
    "AttentionRule",
    obj(
        {
            **{name: text(1) for name in ("rule", "title", "subject_kind")},
            **dict.fromkeys(("enabled", "changed", "has_overrides"), BOOLEAN),
            "thresholds": array(THRESHOLD),
            "overrides": OVERRIDES,
        }
    ),
)


class RuleCollection(OJSView):
    """All rules."""

    @operation("listAttentionRules", {200: obj({"rules": array(RULE)})}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """List all rules with their thresholds and the bounds of these."""
        return Answer({"rules": [codec.encode_setting(one) for one in thresholds.settings()]})


class RuleDetail(OJSView):
    """One rule."""

    @operation(
        "putAttentionRule",
        {200: RULE},
        body=obj(
            {},
            optional({"enabled": BOOLEAN, "thresholds": NUMBERS, "overrides": OVERRIDES}),
            additionalProperties=False,
        ),
        refusals=(404,),
        path={"rule_id": text(1)},
        extension=EXTENSION,
    )
    def put(self, request: Request, rule_id: str) -> Answer:
        """Replace the settings of a rule; absent members get their defaults."""
        wanted = codec.decode_setting(self.body())
        return Answer(codec.encode_setting(thresholds.change(rule_id, wanted, self.caller)))
