"""Reissue against other Python packages for one release, in one run on the same rows: `python -m benchmarks.peers`.

The packages are installed by name into an environment of their own; nothing here is needed to use Reissue.
"""
