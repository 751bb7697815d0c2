"""Models that come with packages and run in this process."""
