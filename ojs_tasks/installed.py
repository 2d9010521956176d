"""Find out which of our apps a project has: its own apps may have the same names."""

from django.apps import apps


def has_app(name: str) -> bool:
    """Return whether our app of this name is installed, such as `workflows`.

    `apps.is_installed` would also accept an app of the project with the same name.
    """
    label = f"ojs_{name}"
    return any(one.label == label for one in apps.get_app_configs())
