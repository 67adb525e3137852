"""A whole overlay on one machine, with a story: it forms, carries events, loses peers, and shows what came of it."""
