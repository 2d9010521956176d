"""Job versions: routing, schemas and canary releases."""
