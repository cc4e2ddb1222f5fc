<<<<<<< HEAD
"""Prototypes that decided how a part was built; docs/architecture.md has their figures."""
=======
"""Small measurements, each of which decides a question of the design; docs/architecture.md."""
>>>>>>> lane/spike-store
