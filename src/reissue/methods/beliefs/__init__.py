"""The Bayesian adversary, bay-frame (Amiri et al.) and js-reduce (Riboni et al.): values may change."""
