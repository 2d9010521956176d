"""How long the console's pages take with many jobs."""
