"""Text games of the engine TextWorld, ALFWorld's among them."""
