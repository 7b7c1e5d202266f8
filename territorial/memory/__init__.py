"""Memory: what processes hold, what a setup will take, and a guard for long runs."""
