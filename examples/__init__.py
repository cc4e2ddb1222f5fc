"""Short scripts that decide online; each writes a figure to the folder it is given."""
