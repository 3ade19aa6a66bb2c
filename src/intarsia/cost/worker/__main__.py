"""A worker: ``python -m intarsia.cost.worker FOLDER TEMPORARY``; or what forks workers: ``… fork-server SOCKET``."""

from __future__ import annotations

import sys

from intarsia.cost.worker import fork_server
from intarsia.cost.worker.process import FORK_SERVER
from intarsia.garbage import collected_later

if __name__ == "__main__":
    with collected_later():
        from intarsia.cost.worker.worker import load_graphs, main

        load_graphs()
    if sys.argv[1] == FORK_SERVER:
        fork_server.main(int(sys.argv[2]), main)
    else:
        main()
