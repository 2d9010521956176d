"""End, retry, stop and return jobs, and remove ended jobs.

Each change of a job's state after its claim is one module here.
"""
