"""``python -m intarsia``: the command line."""

from intarsia.cli.main import main

main()
