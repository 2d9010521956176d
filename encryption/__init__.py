"""The server's part of codecs: it refuses plaintext where asked, and lets operators decode."""
