"""Application configuration of encryption."""

from django.apps import AppConfig


class EncryptionConfig(AppConfig):
    """Encoded arguments. The app has no tables."""

    name = "encryption"
    label = "ojs_encryption"
    verbose_name = "OJS encryption"

    def ready(self) -> None:
        """Register the system checks."""
        from encryption import checks  # noqa: F401,PLC0415 - importing it is the registration
