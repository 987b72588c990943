"""The command line: one short function per verb, each in its own file."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn, TextIO

import typer

from surpass.cli.apply import apply_command
from surpass.cli.check import check_command
from surpass.cli.discover import discover_command
from surpass.cli.display import DisplayHandler, fit
from surpass.cli.evaluate import evaluate_command
from surpass.cli.export import export_command
from surpass.cli.help import Commands
from surpass.cli.learn import LearnCommand, learn_command
from surpass.cli.plot import plot_command
from surpass.cli.report import report_command
from surpass.cli.reproduce import reproduce_command
from surpass.cli.show import show_command
from surpass.cli.sweep import sweep_command
from surpass.cli.tasks import tasks_command
from surpass.cli.trace import trace_command
from surpass.cli.watch import watch_command
from surpass.cli.zoo import zoo_command
from surpass.errors import SurpassError
from surpass.printing import truncate

BUG = 70
"""The exit code for what should never happen."""
LONGEST_LINE = 2000
"""How long a message may be before its middle is left out."""

app = typer.Typer(
    name="surpass",
    cls=Commands,
    help="Learn algorithms that beat their teachers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)
app.command("tasks")(tasks_command)
app.command("discover")(discover_command)
app.command("learn", cls=LearnCommand)(learn_command)
app.command("sweep")(sweep_command)
app.command("evaluate")(evaluate_command)
app.command("apply")(apply_command)
app.command("trace")(trace_command)
app.command("watch")(watch_command)
app.command("show")(show_command)
app.command("check")(check_command)
app.command("export")(export_command)
app.command("zoo")(zoo_command)
app.command("plot")(plot_command)
app.command("report")(report_command)
app.command("reproduce")(reproduce_command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"surpass {version('surpass')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Learn algorithms that beat their teachers."""


def _tell_on_error_stream() -> None:
    """Let what the package has to say while it works go to the error stream."""
    log = logging.getLogger("surpass")
    log.handlers[:] = [DisplayHandler()]
    log.setLevel(logging.INFO)
    log.propagate = False


def main() -> None:
    """Run the command line; what surpass refuses is one sentence on the error stream and exit code 2."""
    # NumPy reads it when it is loaded: a second thread gains nothing at these sizes and costs much on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.stderr is None:  # which says that it is closed
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    _tell_on_error_stream()
    if sys.stdout is None:
        _refuse("the standard output is closed; give it a file, or /dev/null")
    try:
        try:
            app()
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # of which Typer makes exit code 1
                raise end.__context__ from None
            raise
        finally:
            sys.stdout.flush()
    except SurpassError as error:
        _refuse(str(error))
    except MemoryError as error:
        _refuse(f"not enough memory: {str(error) or 'choose smaller sizes'}")
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has seen enough.
        _abandon(sys.stdout, sys.stderr)
        sys.exit(0)
    except KeyboardInterrupt:
        _refuse("interrupted", 130)
    except Exception as error:
        if os.environ.get("SURPASS_DEBUG"):
            raise
        if isinstance(error, OSError):  # such as a full disk
            _abandon(sys.stdout)
            _refuse(f"{error.filename or 'the output'} cannot be used: {error.strerror or error}")
        _refuse(
            f"this is a bug of surpass: {type(error).__name__}: {error}; please report what SURPASS_DEBUG=1 shows", BUG
        )


def _abandon(*streams: TextIO) -> None:
    """Let what a stream has still to write go nowhere, so that Python does not try again at its end."""
    for stream in streams:
        with suppress(OSError):  # a stream without a file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _refuse(message: str, code: int = 2) -> NoReturn:
    """Print one line on the error stream and end."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
    with suppress(OSError):  # then there is no way to tell
        print(fit(f"surpass: {truncate(line, LONGEST_LINE, tail=LONGEST_LINE // 2)}"), file=sys.stderr, flush=True)
    sys.exit(code)
