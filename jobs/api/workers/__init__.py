"""Serve workers: FETCH, ACK, FAIL, BEAT and the progress of jobs."""
