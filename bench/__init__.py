"""Measures modebox beside its peers: `python -m bench --help`."""
