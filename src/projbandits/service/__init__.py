"""Decisions over HTTP: the server, its dashboard, and a client."""
