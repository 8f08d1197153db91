"""Command line: estimate, check, build, schema, golden, permalinks, new, accuracy.

`estimate`, `check`, `schema` and `new` run on a bare interpreter with the repository alone.
"""

import argparse
import datetime
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent

ESTIMATE_HELP = """\
Reads one JSON object, or JSON Lines, and prints one JSON object per line.

  echo '{"model": "llama-3.1-8b", "method": "qlora", "card": "rtx-4090-24gb"}' \\
    | python -m generator estimate

Everything but "model" has a default. "model" is a catalog id, {"num_parameters": 13000000000}
or {"config": {...}} with a Hugging Face config.json. A bad line yields {"error": {...}} in its
place, the other lines are answered, and the exit status is 2.
"""
IDS_HELP = """\
With "op": "solve" the same request gives the longest sequence that fits, in steps of 256 tokens,
the largest micro-batch, the fewest GPUs, and the changes that would make it fit. Of all cards and
GPU counts it names the set-up that costs least by the hour ("cheapest"), the one whose whole run
costs least ("cheapest_run") and the fastest, each with the request's own strategy.

Ids are the names of the files in catalog/models, cards, optimizers and stacks; all of them with

  echo '{"op": "describe"}' | python -m generator estimate
"""


class _Command(argparse.ArgumentParser):
    """A command whose help may end with what is looked up only when someone asks."""

    more_help: Callable[[], str] | None = None

    def format_help(self) -> str:
        """The usual help, and what comes after it."""
        text = super().format_help()
        return text if self.more_help is None else f"{text}\n{self.more_help()}"


def _fields_help() -> str:
    import textwrap

    from generator.request_fields import STACK_DEFAULTS, request_fields

    found = request_fields()
    width = max(len(field.name) for field in found)
    lines = ["fields of a request, what they take, and [the default]:"]
    for field in found:
        default = f"  [{field.default}]" if field.default else ""
        lines.append(f"  {field.name:{width}}  {field.takes}{default}")
    return "\n".join([*lines, "", *textwrap.wrap(STACK_DEFAULTS, width=100), "", IDS_HELP])


def _objects(stream: IO[str]) -> Iterator[str]:
    """The JSON texts of a stream: one object over several lines, or one object per line."""
    text = stream.read()
    if not text.strip():
        return
    try:
        json.loads(text)
    except RecursionError:
        yield text
        return
    except ValueError:
        # Not splitlines: a JSON string may hold U+2028 and its like as they are.
        lines = [line for line in text.split("\n") if line.strip()]
        yield from lines
        return
    yield text


def _estimate(arguments: argparse.Namespace) -> int:
    from generator.core.api import run
    from generator.load import load_catalog

    catalog = load_catalog()
    status = 0
    found = False
    if arguments.file == "-":
        # Bytes that are no UTF-8 become a coded error like any other rubbish, not a traceback.
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")  # type: ignore[union-attr]
        texts: Iterable[str] = _objects(sys.stdin)
    else:
        path = Path(arguments.file)
        if not path.is_file():
            told = f"{path} is a folder" if path.is_dir() else f"there is no file {path}"
            print(f"estimate: {told}; give a JSON file or -.", file=sys.stderr)
            return 2
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            texts = list(_objects(stream))
    for text in texts:
        found = True
        answer = run(text, catalog)
        if answer.startswith('{"error":'):
            status = 2
        try:
            print(answer, flush=True)
        except BrokenPipeError:
            # The reader has seen enough (`| head`).
            return status
    if not found:
        print(run("", catalog))
        return 2
    return status


def _today() -> datetime.date:
    return datetime.datetime.now(tz=datetime.UTC).date()


def _check(arguments: argparse.Namespace) -> int:
    from generator.lint import check

    problems = check(Path(arguments.root), today=_today())
    for problem in problems:
        print(problem)
    failures = [problem for problem in problems if problem.is_failure]
    if not failures:
        print(f"catalog: no problems ({len(problems)} notes)")
    return 1 if failures else 0


def _build(arguments: argparse.Namespace) -> int:
    from generator.emit import LOCAL_SITE_URL, build_all

    def say(line: str) -> None:
        if not arguments.quiet:
            print(f"build: {line}", file=sys.stderr, flush=True)

    build_all(
        ROOT / "catalog",
        Path(arguments.docs),
        only_models=arguments.models,
        # The same variable that mkdocs.yml reads.
        site_url=os.environ.get("SITE_URL", LOCAL_SITE_URL),
        say=say,
    )
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    from generator import schema

    root = ROOT / "catalog"
    if not arguments.check:
        schema.write(root)
        return 0
    stale = schema.check(root)
    for path in stale:
        print(f"{path}: is not what the records say; run `make schema`")
    return 1 if stale else 0


def _golden(arguments: argparse.Namespace) -> int:
    from generator import golden
    from generator.load import load_catalog

    path = ROOT / "tests" / "golden" / "cases.json"
    text = golden.text(load_catalog())
    if not arguments.check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return 0
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        print(f"{path}: the core answers otherwise; explain the change and run `make golden`")
        return 1
    return 0


def _permalinks(arguments: argparse.Namespace) -> int:
    from generator.emit import permalinks

    return permalinks.main(write=arguments.write)


def _new(arguments: argparse.Namespace) -> int:
    from generator import new

    return new.main(
        kind=arguments.kind,
        source=arguments.source,
        hugging_face=arguments.name,
        root=ROOT / "catalog",
        today=_today(),
    )


def _accuracy(arguments: argparse.Namespace) -> int:
    from generator import accuracy

    return accuracy.main(
        arguments.files,
        models=arguments.models,
        as_json=arguments.json,
        out=sys.stdout,
        rows=arguments.rows,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m generator",
        description="Will the fine-tune fit? Estimates, tables and checks.",
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Command
    )

    def add(
        name: str, run: Callable[[argparse.Namespace], int], text: str, description: str = ""
    ) -> _Command:
        command: _Command = commands.add_parser(
            name,
            help=text,
            description=description or text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        return command

    estimate = add("estimate", _estimate, "estimate the memory of one or many runs", ESTIMATE_HELP)
    estimate.add_argument("file", nargs="?", default="-", help="a JSON or JSON Lines file, or -")
    estimate.more_help = _fields_help
    check = add("check", _check, "check the whole catalog and say what to mend")
    check.add_argument("--root", default=str(ROOT / "catalog"), help=argparse.SUPPRESS)
    build = add("build", _build, "generate pages, JSON and the browser's archive into docs/")
    build.add_argument("--docs", default=str(ROOT / "docs"), help="where docs/ is")
    build.add_argument("--models", nargs="*", help="only these model ids, for a quick look")
    build.add_argument("--quiet", action="store_true", help="say nothing of the stages")
    schema = add("schema", _schema, "write the JSON Schemas of the catalog's files")
    schema.add_argument("--check", action="store_true", help="compare instead of writing")
    golden = add("golden", _golden, "write the golden cases that browser and core must agree on")
    golden.add_argument("--check", action="store_true", help="compare instead of writing")
    permalinks = add("permalinks", _permalinks, "compare the published addresses with the ledger")
    permalinks.add_argument("--write", action="store_true", help="append what is new")
    new = add("new", _new, "write the catalog file of a new model, card or optimizer")
    new.add_argument("kind", choices=("model", "card", "optimizer"))
    new.add_argument("source", help="a config.json for a model, else the new id")
    new.add_argument("--name", default="", help="the model's Hugging Face name, owner/name")
    accuracy = add("accuracy", _accuracy, "score measured runs against the estimate")
    accuracy.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a CSV with the columns of catalog/measurements/*.csv; by default the two of these",
    )
    accuracy.add_argument("--models", help="JSON with configs of models outside the catalog")
    accuracy.add_argument(
        "--json", action="store_true", help="print rows and summary as JSON, one line a file"
    )
    accuracy.add_argument(
        "--rows",
        metavar="WHICH",
        help="list rows instead: all, the N worst (a number), or those whose id begins so",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: Words after the program's name; those of the process by default.
    """
    arguments = _parser().parse_args(argv)
    from generator.core.errors import TrainfitError

    try:
        status: int = arguments.run(arguments)
    except TrainfitError as error:
        print(f"{arguments.command}: {error.field}: {error}", file=sys.stderr)
        return 2
    except ExceptionGroup as error:
        problems = getattr(error, "problems", None)
        if problems is None:
            raise
        # A catalog that cannot be used: every fault in its place, as `check` prints them.
        for problem in problems:
            print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        # What a shell reports of a program that Ctrl-C ended.
        print(f"\n{arguments.command}: stopped", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
