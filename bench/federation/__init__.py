"""What federation costs and keeps, with three real servers on this machine."""
