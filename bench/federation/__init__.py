"""The cost and the guarantees of federation, with three real servers on this machine."""
