"""``pyharness bytes``, ``pyharness diff``, ``pyharness overlap`` and ``pyharness audit``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, formatted, show, show_json
from pyharness.cli.usage import Example
from pyharness.types import InputError

_ADVICE_OF_MAP = "replace it with --force, or choose another --map"
_SUFFIXES = {".npy": "npy", ".csv": "csv", ".json": "json"}


@click.command(name="bytes")
@click.argument("row", metavar="SPEC", shell_complete=usage.tokenizers_or_files)
@click.option("--format", "form", type=click.Choice(["summary", "text", "csv", "json", "npy"]),
              help="How to write the lengths [default: by the name of --output, else summary].")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the lengths to this file.")
@click.option("--at-start", is_flag=True, help="In an array: lengths of ids that are the first of a text, without the "
              "dummy space.")  # fmt: skip
@click.option("--special", type=click.Choice(["spelled", "zero"]), default="spelled", show_default=True,
              help="Length of special and unknown ids: that of their string, or 0 as in losses per byte.")  # fmt: skip
@click.option("--check", "table", type=click.Path(path_type=Path), metavar="FILE",
              help="Audit this table of lengths: an array (npy), a JSON list or CSV.")  # fmt: skip
@click.option("-c", "--corpus", "corpora", multiple=True, metavar="SPEC", shell_complete=usage.corpora,
              help="Add up lengths over this text; repeatable [default: sample].")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
def bytes_(row: str, form: str | None, output: Path | None, at_start: bool, special: str, table: Path | None,
           corpora: tuple[str, ...], force: bool) -> None:  # fmt: skip
    """Count the bytes of a text that each id stands for.

    \b
    pyharness bytes mistral:v3
    pyharness bytes ./tokenizer.json -o token_bytes.npy --special zero
    pyharness bytes o200k_base --check their_table.npy

    Bits per byte need these lengths. Decoding each id alone gives wrong ones, and the summary says how many. It also
    says for which texts the lengths add up to the UTF-8 bytes. If a tokenizer changes its text, they cannot, and
    each reason comes with a text that the library has confirmed.

    \b
    Exit status:
      0         done; with --check: no wrong length
      1         the table of --check has wrong lengths
      2         bad input
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness.features.audit import byte_lengths, length_report, length_tables
    from pyharness.system import atomic_file

    chosen = _form(form, output, at_start)
    if table is not None and (output is not None or chosen not in ("summary", "json")):
        raise InputError("--check writes a summary, or all wrong ids with --format json: leave --output out")
    if output is not None:
        atomic_file.check_writable(output, overwrite=force)
    else:
        check_output()
    stated = None if table is None else length_tables.read(table)
    lengths, tokenizer = byte_lengths.load(row)
    if stated is not None:
        checked = length_tables.audit(
            stated, str(table), lengths, lambda: byte_lengths.naive_lengths(tokenizer, lengths.vocabulary)
        )
        if chosen == "json":
            show_json({"tokenizer": row, **length_tables.audit_json(checked)})
        else:
            show(formatted(length_report.audit_sheets(row, checked)))
        sys.exit(1 if checked.wrong else 0)
    values = lengths.without_special() if special == "zero" else lengths.lengths
    if chosen == "npy" and output is not None:
        array = length_tables.as_array(lengths.without_dummy_space(values) if at_start else values)
        atomic_file.write(output, array, overwrite=force)
        return
    if chosen in ("csv", "text"):
        text = (length_tables.as_csv if chosen == "csv" else length_tables.as_text)(lengths, values)
    else:
        facts = length_report.facts_of(lengths, tokenizer, corpora or (byte_lengths.SAMPLE,))
        in_json = chosen == "json"
        text = length_tables.as_json(lengths, values, facts.json) if in_json else formatted(length_report.sheets(facts))
    if output is None:
        show(text)
    else:
        atomic_file.write(output, text, overwrite=force)


def _form(form: str | None, output: Path | None, at_start: bool) -> str:
    chosen = form or (_SUFFIXES.get(output.suffix, "text") if output is not None else "summary")
    if chosen == "npy" and output is None:
        raise InputError("an array goes to a file: name it with --output FILE.npy")
    if at_start and chosen != "npy":
        raise InputError("--at-start is for arrays; other forms have both lengths: add --format npy, or leave it out")
    return chosen


@click.command()
@click.argument("first", metavar="A", shell_complete=usage.tokenizers_or_files)
@click.argument("second", metavar="B", required=False, shell_complete=usage.tokenizers_or_files)
@click.option("-c", "--corpus", "corpora", multiple=True, metavar="SPEC", shell_complete=usage.corpora,
              help="Compare ids on this text; repeatable [default: all parts of sample].")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
              help="How to write the comparison.")  # fmt: skip
@click.option("--map", "id_map", type=click.Path(path_type=Path), metavar="FILE",
              help='Write the new id of each old one as "pyharness adapt embed --map" reads it.')  # fmt: skip
@click.option("--libraries", nargs=2, metavar="OLD NEW",
              help="Compare two versions of A's library, such as tokenizers==0.20.3.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads [default: all cores].")
@click.option("--force", is_flag=True, help="Replace the file that --map names, if there is one.")
def diff(first: str, second: str | None, corpora: tuple[str, ...], form: str, id_map: Path | None,
         libraries: tuple[str, str] | None, threads: int | None, force: bool) -> None:  # fmt: skip
    """Say what differs between two tokenizers.

    \b
    pyharness diff mistral:v1 mistral:v3
    pyharness diff old/tokenizer.json new/tokenizer.json -c path:corpus.jsonl
    pyharness diff deepseek native+deepseek --format json
    pyharness diff model@v1.0 model
    pyharness diff cl100k_base --libraries tiktoken==0.9.0 tiktoken==0.12.0

    It says what changed in vocabulary and rules, stages and added tokens. It says which documents get different ids
    and shows the shortest text of each cause. Both libraries have encoded each of these texts. Order of keys, white
    space and the spelling of merges make no difference. A file may be gzipped. PATH@REVISION is a file or folder at a
    revision in git. --libraries installs each version in an environment of its own, which the cache keeps; there only
    texts are compared.

    \b
    Exit status:
      0         no text with different ids was found; only the verdict
                "equal: both define the same" is a proof
      1         ids differ
      2         the two cannot be compared
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness.features.audit.differences import comparison, comparison_report, sides, versions
    from pyharness.features.audit.differences.versions import LibraryVersion
    from pyharness.system import atomic_file
    from pyharness.system.environment import cores

    if id_map is not None:
        atomic_file.check_writable(id_map, overwrite=force, advice=_ADVICE_OF_MAP)
    check_output()
    if libraries is not None:
        if id_map is not None:
            raise InputError("--map is of two files, and --libraries compares texts alone: leave one of them out")
        wanted = (LibraryVersion.of(libraries[0]), LibraryVersion.of(libraries[1]))
        result = versions.compare_versions((first, second or first), wanted, corpora or comparison.DEFAULT_TEXTS,
                                          threads or cores())  # fmt: skip
        if form == "json":
            show_json(comparison_report.versions_as_json(result))
        else:
            show(formatted(comparison_report.version_sheets(result), form))
        sys.exit(0 if result.equal else 1)
    if second is None:
        raise InputError("name the second tokenizer, or two versions of the library of the first with --libraries")
    one, other = sides.pair(first, second)
    compared = comparison.compare(one, other, corpora or comparison.DEFAULT_TEXTS, threads or cores())
    if id_map is not None:
        content = json.dumps(compared.ids.new.tolist()) + "\n"
        atomic_file.write(id_map, content, overwrite=force, advice=_ADVICE_OF_MAP)
    if form == "json":
        show_json(comparison_report.as_json(compared))
    else:
        show(formatted(comparison_report.sheets(compared), form))
    sys.exit(0 if compared.equal else 1)


@click.command()
@click.argument("spec", metavar="SPEC", shell_complete=usage.tokenizers_or_files)
@click.option("--only", multiple=True, metavar="CHECK", help="Run this check alone; repeatable [default: all].")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
              help="How to write the audit.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write a page (HTML), too.")
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads [default: all cores].")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
def audit(spec: str, only: tuple[str, ...], form: str, output: Path | None, threads: int | None, force: bool) -> None:
    """Check one tokenizer or model folder.

    \b
    pyharness audit o200k_base
    pyharness audit ./model-folder -o audit.html
    pyharness audit ./tokenizer.json --only specials --format json

    It reads the file and the files next to it. It encodes every assigned character, and asks its own library for
    batches, threads and offsets. Chat templates are rendered in a sandbox. Each finding has a witness that this
    library confirms, and what to do. It needs no network. docs/audit.md explains each check.

    \b
    Exit status:
      0         no fault
      1         a fault
      2         bad input
      3         no fault, and something could not be decided
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness.features.audit import audit_report, auditing
    from pyharness.report import page
    from pyharness.system import atomic_file
    from pyharness.system.environment import cores

    if output is not None:
        atomic_file.check_writable(output, overwrite=force)
    check_output()
    audited = auditing.audit(spec, only, threads or cores())
    if output is not None:
        atomic_file.write(output, page.render(audit_report.page_of(audited)), overwrite=force)
    if form == "json":
        show_json(audit_report.as_json(audited))
    else:
        show(formatted(audit_report.sheets(audited), form))
    sys.exit(audited.exit_status)


@click.command()
@click.argument("specs", metavar="SPEC...", nargs=-1, required=True, shell_complete=usage.tokenizers_or_files)
@click.option("-c", "--corpus", "corpora", multiple=True, metavar="SPEC", shell_complete=usage.corpora,
              help="Weight tokens by their use in this text; repeatable [default: sample].")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
              help="How to write the tables.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write a page (HTML), too.")
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads [default: all cores].")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
def overlap(specs: tuple[str, ...], corpora: tuple[str, ...], form: str, output: Path | None, threads: int | None,
            force: bool) -> None:  # fmt: skip
    """Say what vocabularies hold, and what they share.

    \b
    pyharness overlap mistral:v1 mistral:v3 deepseek
    pyharness overlap o200k_base ./tokenizer.json -c path:books.jsonl -o page.html

    It counts tokens by script, and those that begin with a space. For each pair it gives Jaccard's index and the share
    of the tokens of one that the other has, by tokens and by their use in your text. The page has them as heat maps.

    \b
    Exit status:
      0         done
      2         bad input, such as a row without a vocabulary
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness.features.audit.differences import overlap_report, overlaps, sides
    from pyharness.report import page
    from pyharness.system import atomic_file
    from pyharness.system.environment import cores

    if output is not None:
        atomic_file.check_writable(output, overwrite=force)
    check_output()
    texts = corpora or ("sample",)
    rows = [sides.load(spec) for spec in dict.fromkeys(specs)]
    report = overlap_report.VocabularyReport.of(overlaps.contents(rows, texts, threads or cores()), texts)
    if output is not None:
        atomic_file.write(output, page.render(report.page()), overwrite=force)
    if form == "json":
        show_json(report.as_json())
    else:
        show(formatted(report.sheets(), form))


COMMANDS = (bytes_, diff, overlap, audit)
EXAMPLES = (
    Example("pyharness bytes mistral:v3", "how many bytes each id stands for", 90),
    Example("pyharness diff mistral:v1 mistral:v3", "what differs between two tokenizers", 95),
    Example("pyharness overlap mistral:v1 mistral:v3", "what vocabularies share", 96),
    Example("pyharness audit ./model-folder", "what fails in production", 96),
)
