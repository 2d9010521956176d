"""Record each change of configuration and each operation with its actor and reason.

Every room that changes configuration adds its entry here, in the same transaction.
"""
