"""Files: atomic writing, and reading with bounds on memory and time."""
