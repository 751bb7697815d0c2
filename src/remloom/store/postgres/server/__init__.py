"""The database server: connections, tenants, transactions and upkeep."""
