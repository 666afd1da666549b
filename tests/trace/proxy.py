"""Run `previously serve` under a recorder: `python -m tests.trace.proxy ARGUMENTS OF PREVIOUSLY`.

Whoever started it writes `start` or `stop` to its standard input, a line each, and reads a line of JSON from the file
descriptor that TRACE_FD names.
"""

from __future__ import annotations

import json
import os
import sys
import threading

from tests.trace.recorder import Recorder


def _obey(recorder: Recorder) -> None:
    with os.fdopen(int(os.environ["TRACE_FD"]), "w", encoding="utf-8") as replies:
        for line in sys.stdin:
            if line.strip() == "start":
                recorder.start()
            reply = recorder.stop() if line.strip() == "stop" else {}
            replies.write(json.dumps(reply) + "\n")
            replies.flush()


if __name__ == "__main__":
    recorder = Recorder()
    recorder.install()
    threading.Thread(target=_obey, args=(recorder,), daemon=True).start()

    from previously.cli.main import run

    run()
