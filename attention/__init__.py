"""Needs attention: rules find incidents, and one list shows them with cause and remedy."""
