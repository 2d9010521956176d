"""Names that the driver, the handlers and the settings of the soak share."""

from typing import Final

QUEUE: Final = "soak"
ORDER, AORDER, CHILD = "soak.order", "soak.aorder", "soak.child"
STEPS: Final = ("first", "second", "last")  # of an order; a child has the step "below"
BELOW: Final = "below"
APPROVED: Final = "approved"  # the signal of each order
NAP_S: Final = 0.5
RETRY: Final = {"max_attempts": 1000, "initial_interval": "PT0.2S", "max_interval": "PT1S"}
FOLDER: Final = "BENCH_SOAK_FOLDER"  # variable: the folder of the records
SERVER: Final = "BENCH_SOAK_SERVER"  # variable: the address for the remote worker
EFFECT, SEEN = "effect", "seen"  # kinds of records
EFFECTS_FILE: Final = "effects"
