"""One table, one release: Mondrian, Incognito, lattices, global recoding (LeFevre et al.)."""
