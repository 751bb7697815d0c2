"""The guard before every door: keys, hosts and origins, limits, audit."""
