"""Files: written whole or not at all, and read with bounds on what they may make of memory and time."""
