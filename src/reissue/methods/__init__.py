"""One room per paper: its strategy, its attack and their kernels; and what all of them have in common."""
