"""``python -m intarsia``: the command line."""

from intarsia.cli.start import main

main()
