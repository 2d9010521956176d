"""The fast path: shorter replacements of steps that Django and its packages take for each request.

Each module answers or stores the same as the step that it replaces. docs/fastpath.md states for
each module its effect, its cost, and the way to run without it.
"""
