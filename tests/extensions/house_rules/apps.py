"""Application configuration of the example."""

from django.apps import AppConfig


class HouseRulesConfig(AppConfig):
    """An app without models; its hooks are in `extension.py`."""

    name = "tests.extensions.house_rules"
    label = "house_rules"
