"""`python -m surpass.cli.job WORDS`: a command as a part of a larger one, with which it ends."""

from __future__ import annotations

import os
import threading

from surpass.cli.main import main


def _end_with_the_other_side() -> None:
    """End this process when its standard input is closed: whoever started it is gone.

    Whatever it was doing is lost, as if it had been killed; runs go on from their last checkpoint.
    """
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_other_side, daemon=True).start()
    main()
