"""Tables on this machine or on Spark, behind a handful of verbs."""
