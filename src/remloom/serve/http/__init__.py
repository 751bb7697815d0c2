"""The HTTP server: REST, streams, OpenAPI, health, and the pages."""
