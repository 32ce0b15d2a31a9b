"""New cuts of old classes for checked-mondrian, each checked on the cluster it touches."""
