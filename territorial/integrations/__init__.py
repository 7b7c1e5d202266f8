"""Adapters to trainers that want an environment of a class of their own; each needs its trainer installed."""
