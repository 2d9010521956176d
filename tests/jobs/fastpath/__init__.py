"""Tests of the fast path, and of the same requests without it."""
