"""Tables of the core. Verbs live in `services/`, hot statements in `sql/`.

The state of a live job is its narrow row: `Ready` is available, `Lease` is active, `Later` is
scheduled, pending or retryable. Each transition deletes one narrow row and adds another in one
statement, so the deleted row is the proof of the state before. `Job.state` is null until a job
ends. The wide row is written when a job is stored, when an attempt fails, and when it ends.
"""

from jobs.models.counts import (
    Counts,
    Depth,
    Dispatch,
    DispatchPeriod,
    Duration,
    Latency,
    ObjectivePeriod,
    ObjectiveTotal,
    Period,
    QueueSize,
    Tally,
    TenantDepth,
    TenantLabel,
    TenantPeriod,
    Total,
)
from jobs.models.events import (
    Event,
    FoldPosition,
    LogPosition,
)
from jobs.models.fields import (
    DEFAULT_TENANT,
    BaseType,
    NameField,
    Xid8Field,
)
from jobs.models.jobs import (
    ArchivedJob,
    Awaited,
    Finished,
    Job,
    Later,
    Lease,
    Progress,
    Ready,
    ResultExpiry,
    Unique,
)
from jobs.models.lanes import (
    Charge,
    Debt,
    Lane,
    LaneKey,
    Served,
    Turn,
)
from jobs.models.limits import (
    Hold,
    Limit,
    LimitWait,
    Start,
)
from jobs.models.moves import Move, MovingJob
from jobs.models.operating import (
    ApiKey,
    Audit,
    BulkAnswer,
    ConfigChange,
    LoginWindow,
    Maintenance,
    Replay,
    ReplayRule,
    Staff,
)
from jobs.models.queues import (
    Queue,
    QueueTemplate,
    Terms,
)
from jobs.models.undo import Undo, UndoJob
from jobs.models.workers import (
    LoopTick,
    Worker,
)

__all__ = [
    "DEFAULT_TENANT",
    "ApiKey",
    "ArchivedJob",
    "Audit",
    "Awaited",
    "BaseType",
    "BulkAnswer",
    "Charge",
    "ConfigChange",
    "Counts",
    "Debt",
    "Depth",
    "Dispatch",
    "DispatchPeriod",
    "Duration",
    "Event",
    "Finished",
    "FoldPosition",
    "Hold",
    "Job",
    "Lane",
    "LaneKey",
    "Latency",
    "Later",
    "Lease",
    "Limit",
    "LimitWait",
    "LogPosition",
    "LoginWindow",
    "LoopTick",
    "Maintenance",
    "Move",
    "MovingJob",
    "NameField",
    "ObjectivePeriod",
    "ObjectiveTotal",
    "Period",
    "Progress",
    "Queue",
    "QueueSize",
    "QueueTemplate",
    "Ready",
    "Replay",
    "ReplayRule",
    "ResultExpiry",
    "Served",
    "Staff",
    "Start",
    "Tally",
    "TenantDepth",
    "TenantLabel",
    "TenantPeriod",
    "Terms",
    "Total",
    "Turn",
    "Undo",
    "UndoJob",
    "Unique",
    "Worker",
    "Xid8Field",
]
