"""Discovery: from what a database says of its tables to a plan of schemas, names and edges."""
