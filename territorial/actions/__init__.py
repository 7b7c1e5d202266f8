"""Actions: how they are encoded, read from a batch of agents, and masked."""
