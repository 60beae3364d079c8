"""`handfast serve` that tells on SIGUSR2 how many tasks it has: `python -m benchmarks.servers.counted FILE serve …`."""

import asyncio
import faulthandler
import gc
import signal
import sys
from pathlib import Path

from handfast.cli.main import main

if __name__ == "__main__":
    counts = Path(sys.argv[1])

    def tell(_number: int, _frame: object) -> None:
        gc.collect()
        counts.with_suffix(".new").write_text(str(len(asyncio.all_tasks())))
        counts.with_suffix(".new").rename(counts)

    signal.signal(signal.SIGUSR2, tell)
    faulthandler.register(signal.SIGUSR1)  # where it stands, for a run that fails
    sys.exit(main(sys.argv[2:]))
