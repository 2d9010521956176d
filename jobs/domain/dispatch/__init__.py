"""Define a FETCH and its plan, and the reasons why a job waits."""
