"""Guard requests to other hosts: addresses and stored credentials.

An outbound request resolves its address here, and stored credentials are encrypted here.
"""
