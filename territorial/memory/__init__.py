"""Memory: measuring processes, predicting leagues, and a guard for long runs."""
