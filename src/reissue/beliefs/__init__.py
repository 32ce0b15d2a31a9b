"""Prior and posterior knowledge of a statistical adversary."""
