"""Why nothing happens here: causes of waiting work on the pages of its subjects.

`causes.py` has the type, `gates.py` translates the explanation of a job, `subjects.py` has one
function per kind of subject, and `statements.py` adds findings and the buttons of the user.
"""
