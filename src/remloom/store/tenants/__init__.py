"""Where tenants are: homes, folders, files and their encryption."""
