"""Small measurements, each of which decides a question of the design; docs/architecture.md."""
