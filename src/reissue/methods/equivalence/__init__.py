"""The equivalence attack and e-equivalence (He, Barman and Naughton), on top of m-invariance."""
