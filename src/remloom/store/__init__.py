"""Where a tenant's memory is kept: one contract, one provider for each kind of database."""
