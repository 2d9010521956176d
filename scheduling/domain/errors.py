"""Errors of this app alone."""

from jobs.domain.errors import Conflict, Unprocessable


class InfeasibleRatio(Unprocessable):
    code = "infeasible_ratio"
    hint = "lower min_dispatch_ratio, or name fewer queues: all shares together are at most 1"


class PoolInUse(Conflict):
    code = "pool_in_use"
    hint = "stop its workers, or send force=true"


class PoolStatic(Conflict):
    code = "x_pool_static"
    hint = "change the server's settings instead"
