"""What the engine writes and reads: layout, tables and boards of observations; codes and masks of actions."""
