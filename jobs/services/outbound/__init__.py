"""Guard what the server sends to other hosts.

An outbound request resolves its address here, and stored credentials are encrypted here.
"""
