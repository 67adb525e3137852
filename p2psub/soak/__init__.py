"""A run over hours: peers of two clusters are killed one after the other while others publish, and books are kept."""
