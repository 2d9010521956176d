"""Durable execution: checkpoints, signals and the steps of handlers. Spec: contract 34."""
