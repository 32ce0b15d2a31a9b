"""Correspondence attacks and the BCF-anonymizer (Fung, Wang, Fu and Pei): releases that only grow."""
