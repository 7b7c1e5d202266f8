"""Play: a person at a seat of a game, through a page in the browser; one thread owns the game."""
