"""Names by which a job and the jobs that its steps started know each other. Contract 34.2."""

from typing import Final

PARENT: Final = "ojs.parent"  # in the meta of a job: the job that waits for it
CANCEL: Final = "ojs.cancel"  # in the meta of a job and in the record of its step
WITH_PARENT: Final = "with_parent"  # the value: a cancel of the parent cancels the job
ENDED: Final = "ojs.ended:"  # before a job's id: the name under which a wait names its end
