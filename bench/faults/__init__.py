"""A server under load with repeated faults: its promises, and the observed results."""
