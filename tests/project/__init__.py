"""The standalone server: settings, commands, the embedded PostgreSQL, `quickstart`."""
