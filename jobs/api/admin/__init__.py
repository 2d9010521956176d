"""The admin API of the core, a module per subject of contract 24.1."""
