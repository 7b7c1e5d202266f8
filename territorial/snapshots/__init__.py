"""Snapshots of policies: weights and manifests in a folder that processes share."""
