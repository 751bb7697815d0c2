"""Learning: documents in time order, passage by passage."""
