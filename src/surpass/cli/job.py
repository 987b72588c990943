"""`python -m surpass.cli.job FOLDER WORDS`: a command as a part of a larger one, with which it ends.

Only one works in a folder at a time: one that was started again waits until the one before is gone.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from surpass.cli.main import main


def _end_with_the_other_side() -> None:
    """End this process when its standard input is closed: whoever started it is gone.

    Its work since the last checkpoint is lost, as if it had been killed; runs resume from there.
    """
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_other_side, daemon=True).start()
    lock = FileLock(Path(sys.argv.pop(1)) / ".lock", is_singleton=True)  # held until this process ends
    with suppress(OSError, NotImplementedError):  # a file system without locks
        lock.acquire()
    main()
