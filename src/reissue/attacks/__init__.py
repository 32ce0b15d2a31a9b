"""Attacks: what someone with stated knowledge infers from a series. One file each."""
