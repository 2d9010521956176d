"""The rules of versions in plain Python: versions, schemas of arguments, routing and canaries.

`comparison.py` finds the changes between two schemas; `compatibility.py` judges them.
"""
