"""Tests of the standalone server: settings, commands, the embedded PostgreSQL, `quickstart`."""
