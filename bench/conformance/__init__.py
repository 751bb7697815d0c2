"""The test suites of other projects, run against Remloom: python -m bench.conformance --help."""
