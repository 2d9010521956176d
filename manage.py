#!/usr/bin/env python3
"""Entry point of the standalone server's commands in a checkout."""

from ojs_project.__main__ import main

if __name__ == "__main__":
    main()
