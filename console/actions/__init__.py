"""Actions of operators by button: one module per subject, joined in `table.py`."""
