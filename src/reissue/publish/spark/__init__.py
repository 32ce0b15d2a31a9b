"""Publishing on Spark: workers read, make, check and write the fragments."""
