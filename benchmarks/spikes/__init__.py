"""Prototypes that decided how a part was built; docs/architecture.md has their figures."""
