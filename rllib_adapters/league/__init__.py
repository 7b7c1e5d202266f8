"""A league in an algorithm: who plays, when snapshots are taken, where they are stored."""
