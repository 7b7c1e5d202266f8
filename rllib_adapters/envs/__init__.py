"""The environments that RLlib plays, their configuration and their spaces."""
