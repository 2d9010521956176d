"""Tests of the server's part of codecs."""
