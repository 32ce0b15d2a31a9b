"""`python -m reissue` is the command line."""

from reissue.cli import main

main()
