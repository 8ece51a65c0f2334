"""The process around a command: its streams, its errors and its exit status."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from diagnosis.runtime import DiagnosisError, told
from diagnosis.views.terminal import safe

BROKEN = 1
"""Exit status: something that was checked does not hold."""

REFUSED = 2
"""Exit status: something was refused, missing, or there was nothing to check."""

_NOT_THE_USERS = (Path(__file__).parent, Path(importlib.__file__).parent)
"""Folders whose lines say nothing to a user: the package itself, and what imports modules."""

_output: ContextVar[TextIO | None] = ContextVar("output", default=None)


class RefusedError(DiagnosisError):
    """A command was asked for something that it cannot do."""


class Group(click.Group):
    """Commands that give their exit status back, and never end with a traceback.

    With ``--json``, standard output holds one JSON document whatever happens: all else that is written there, by a
    user's own code too, goes to standard error.
    """

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and end the process with its status.

        Args:
            args: the arguments; those of the process where absent.
            prog_name: the name of the command in its help.
            extra: as click's own.
        """
        given = list(sys.argv[1:] if args is None else args)
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed before we began
                setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        real, as_json = sys.stdout, "--json" in given
        reset = _output.set(real)
        try:
            with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
                status, message = self._outcome(given, prog_name or "diagnosis")
                if message is not None:
                    sys.stderr.write(f"diagnosis: {safe(message)}\n")
                    if as_json:
                        print_json({"error": message})
            real.flush()
        except OSError as error:
            status = _unwritable(real, error)
        finally:
            _output.reset(reset)
        sys.exit(status)

    def _outcome(self, given: list[str], prog_name: str) -> tuple[int, str | None]:
        """Run a command; give its status, and what there is to say of an error."""
        try:
            with self.make_context(prog_name, given) as context:
                status = self.invoke(context)
        except click.exceptions.Exit as ended:
            return ended.exit_code, None
        except click.exceptions.NoArgsIsHelpError as error:
            sys.stderr.write(error.format_message() + "\n")
            return REFUSED, None
        except click.ClickException as error:
            usage = f"{error.ctx.get_usage()}\n" if isinstance(error, click.UsageError) and error.ctx else ""
            sys.stderr.write(safe(usage))
            return REFUSED, error.format_message()
        except DiagnosisError as error:
            return REFUSED, str(error)
        except (KeyboardInterrupt, click.Abort):
            return REFUSED, "interrupted"
        except SystemExit:
            return REFUSED, "code of a graph ended the process; nothing was decided"
        except MemoryError:
            return REFUSED, "there is not enough memory for this; a smaller --max-states may do"
        except OSError:
            raise
        except Exception as error:
            return REFUSED, f"{told(error)}{where(error)}"
        return (status if isinstance(status, int) else 0), None


@contextlib.contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Take an interrupt (Ctrl-C) as the wish to stop and tell what was found so far; a second one stops at once.

    Yields:
        A function that tells whether to stop.
    """
    asked = False

    def stop(number: int, frame: object) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def print_json(document: object) -> None:
    """Write one JSON document to standard output, in ASCII.

    Args:
        document: plain data.
    """
    (_output.get() or sys.stdout).write(json.dumps(document, indent=2, default=str) + "\n")


def print_json_around(document: Mapping[str, Any], key: str, texts: Iterable[str]) -> None:
    """Write one JSON document to standard output, in ASCII, one of whose lists is too long to be held.

    Args:
        document: plain data; under the key stands an empty list.
        key: the key of the list.
        texts: its elements, each as JSON in one line.
    """
    mark = f'\n  "{key}": ['
    head, tail = json.dumps(document, indent=2, default=str).split(f"{mark}]", 1)
    out, before = _output.get() or sys.stdout, "\n"
    out.write(head + mark)
    for text in texts:
        out.write(f"{before}    {text.strip()}")
        before = ",\n"
    out.write(f"{'' if before == chr(10) else chr(10) + '  '}]{tail}\n")


def where(error: BaseException) -> str:
    """Say which line of the user's own code an error comes from.

    Args:
        error: the error.

    Returns:
        File and line in brackets, or an empty text where there is no such line.
    """
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if not frame.filename.startswith("<") and not any(file.is_relative_to(folder) for folder in _NOT_THE_USERS):
            return f" ({frame.filename}, line {frame.lineno})"
    return ""


def _unwritable(stream: TextIO, error: OSError) -> int:
    """Tell that the output could not be written, and keep the interpreter from trying once more."""
    if error.errno != errno.EPIPE:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"diagnosis: the output cannot be written: {error.strerror or error}\n")
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    return REFUSED
