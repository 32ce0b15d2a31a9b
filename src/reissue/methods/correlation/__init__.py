"""Historical correlation, compromised people and cor-split (Riboni and Bettini), on top of m-invariance."""
