"""The command line: a door with no logic of its own."""
