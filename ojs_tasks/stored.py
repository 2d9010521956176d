"""Names of the members that a checkpoint with steps has. Contract 34.2.

`__steps` has a record of each step by its name, in the order in which the steps began.
"""

from typing import Final

STEPS: Final = "__steps"
ORPHANS: Final = "__orphans"  # names of stored steps that the code no longer asks for
REST: Final = "__rest"  # the encoded members of the handler's own checkpoint
RESULT: Final = "result"  # of a record
