"""The file of a tenant: connections, locks, upkeep and repair."""
