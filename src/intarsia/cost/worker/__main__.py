"""The process of a worker, which starts in little time: ``python -m intarsia.cost.worker FOLDER TEMPORARY``."""

from __future__ import annotations

from intarsia.garbage import collected_later

with collected_later():
    from intarsia.cost.worker.worker import main

if __name__ == "__main__":
    main()
