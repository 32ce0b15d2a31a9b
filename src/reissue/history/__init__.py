"""What was published before: past releases as facts, who has which number, and the public files."""
