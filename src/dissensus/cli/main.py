"""The command ``dissensus``: one file per noun, each imported only when its command is used."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from dissensus.errors import DissensusError

COMMANDS = {
    "answer": "dissensus.cli.answer:answer",
    "attacks": "dissensus.cli.attacks:attacks",
    "audit": "dissensus.cli.audit:audit",
    "calibrate": "dissensus.cli.calibrate:calibrate",
    "contract": "dissensus.cli.contract:contract",
    "decide": "dissensus.cli.decide:decide",
    "dispute": "dissensus.cli.dispute:dispute",
    "doctor": "dissensus.cli.doctor:doctor",
    "evidence": "dissensus.cli.evidence:evidence",
    "fork": "dissensus.cli.runs:fork",
    "inbox": "dissensus.cli.inbox:inbox",
    "jury": "dissensus.cli.jury:jury",
    "measure": "dissensus.cli.measure:measure",
    "model": "dissensus.cli.model:model",
    "protocol": "dissensus.cli.protocol:protocol",
    "proxy": "dissensus.cli.proxy:proxy",
    "reconcile": "dissensus.cli.reconcile:reconcile",
    "record": "dissensus.cli.record:record",
    "reopen": "dissensus.cli.dispute:reopen",
    "replay": "dissensus.cli.runs:replay",
    "resume": "dissensus.cli.runs:resume",
    "round-robin": "dissensus.cli.round_robin:round_robin",
    "selfcheck": "dissensus.cli.selfcheck:selfcheck",
    "study": "dissensus.cli.study:study",
    "swarm": "dissensus.cli.swarm:swarm",
    "why": "dissensus.cli.dispute:why",
}
"""Name of a command to ``module:attribute``."""

HELP = {
    "answer": "Answer a question that a run waits for.",
    "attacks": "Show the attacks that a study can make on your own panel.",
    "audit": "Say who owes what in a log of messages.",
    "calibrate": "Measure a panel on labelled questions and keep its profile.",
    "contract": "Put a task out to tender, and say who holds it.",
    "decide": "Put a question to a panel and vote.",
    "dispute": "Settle a case by its evidence, or put it before a person.",
    "doctor": "Check this installation.",
    "evidence": "Pin files as evidence, and reopen what claims cite.",
    "fork": "Run again from a record with one outcome changed.",
    "inbox": "Show the questions that wait for a person.",
    "jury": "Show what more voters would bring, if independent and if not.",
    "measure": "Say from a table of answers what agreement is worth.",
    "model": "List, install and find local models.",
    "protocol": "Show, check and draw protocols of messages.",
    "proxy": "Judge the messages that pass between agents, and stop illegal ones.",
    "reconcile": "Find where two folders of documents do not say the same.",
    "record": "Verify, show, export and import records.",
    "reopen": "Recheck a case's evidence today.",
    "replay": "Recompute a record's decision without any model.",
    "resume": "Finish an interrupted run.",
    "round-robin": "Plan and understand one answer written in turns.",
    "selfcheck": "See what an agent's verdict rests on when it contradicts itself.",
    "study": "Measure procedures under attack, over a grid.",
    "swarm": "Have a batch reported from different sources, and settle it.",
    "why": "Say how a case was settled, step by step.",
}
"""The line of each command in ``--help``, so that help imports none of them."""

INCOMPLETE, INTERRUPTED = 3, 130
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class _ReaderGoneError(Exception):
    """Whoever read our output has gone. It is no OSError, so that click leaves it to us."""


class LazyGroup(click.Group):
    """A group that imports a command only when it is named, and turns our errors into sentences and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command ``cmd_name``, with defaults from the settings file; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        if (settings := _settings(cmd_name)) is not None:
            ctx.default_map = {**(ctx.default_map or {}), cmd_name: settings}
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, HELP[name]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, without colours where ``NO_COLOR`` is set."""
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGoneError from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and end with the documented exit code: 0, 1, 2, 3, 4 or 130."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except DissensusError as error:
            click.echo(f"error: {error.message}", err=True)
            if error.next_step:
                click.echo(error.next_step, err=True)
            sys.exit(error.exit_code)
        except SystemExit:
            if sys.stdout is not None:
                try:
                    sys.stdout.flush()
                except BrokenPipeError:  # else the interpreter tries once more and ends with a status of its own
                    sys.stdout = None
            raise
        except click.exceptions.Abort:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except _ReaderGoneError:  # as after `| head`: no error of ours
            sys.stdout = None
            sys.exit(0)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            sys.stdout = None
            click.echo(f"error: The output cannot be written: {error.strerror}.", err=True)
            click.echo("Make room. Runs that ended are whole in their records: dissensus record show RECORD", err=True)
            sys.exit(INCOMPLETE)
        sys.exit(code if isinstance(code, int) else 0)


def _settings(command: str) -> dict[str, Any] | None:
    """Defaults for ``command`` from the nearest ``dissensus.toml``; None if there is no such file."""
    from dissensus.cli.settings import settings_for

    return settings_for(command) or None


@click.group(cls=LazyGroup, context_settings={"auto_envvar_prefix": "DISSENSUS", "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dissensus")
def main() -> None:
    """Groups of AI agents decide; this tells what their agreement is worth.

    Every command has --help and --json. Results go to stdout, talk to stderr. Exit codes: 0 done; 1 ran, and the
    check found something; 2 usage; 3 run failed or incomplete, resumable; 4 record damaged; 130 interrupted.
    """
