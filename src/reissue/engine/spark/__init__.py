"""Tables on Apache Spark: the same verbs and the same snapshots, spread over machines. Needs the extra `spark`."""
