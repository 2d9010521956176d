"""Application configuration of the list of findings."""

from django.apps import AppConfig


class AttentionConfig(AppConfig):
    """Rules, findings and mutes."""

    name = "attention"
    label = "ojs_attention"
    verbose_name = "OJS attention"
    default_auto_field = "django.db.models.BigAutoField"
