"""Names by which a job and what its steps started know each other. Contract 34.2."""

from typing import Final

PARENT: Final = "ojs.parent"  # in the meta of a job or a workflow: the job that waits for it
CANCEL: Final = "ojs.cancel"  # in the same meta, and in the record of the step
WITH_PARENT: Final = "with_parent"  # the value: a cancel of the parent cancels what it started
ENDED: Final = "ojs.ended:"  # before a job's id: the name under which a wait names its end
FLOW_ENDED: Final = "ojs.workflow_ended:"  # the same for a workflow
