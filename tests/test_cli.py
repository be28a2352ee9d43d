"""The command line: what each command prints, its exit code, and errors in one screen."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from cepheid import InputError, Pattern
from cepheid.cli import main
from cepheid.cli.failures import told
from cepheid.cli.job_file import read_job
from cepheid.cli.patterns import load_pattern

SHOPLIFTING = (
    Pattern.begin("shelf")
    .where("reader = 'SHELF'")
    .not_followed_by("counter")
    .where("reader = 'COUNTER'")
    .followed_by("exit")
    .where("reader = 'EXIT'")
    .within("12 hours")
)
SASE = "EVENT SEQ(SHELF shelf, !(COUNTER counter), EXIT exit) WITHIN 12 hours"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    Path("pattern.json").write_text(SHOPLIFTING.to_json(), encoding="utf-8")
    Path("pattern.sase").write_text(SASE, encoding="utf-8")
    table = pa.table({"tag": ["a"], "ts": pa.array([datetime(2025, 1, 1)], pa.timestamp("us")), "reader": ["EXIT"]})
    pq.write_table(table, "readings.parquet")

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as exit:  # argparse
            code = int(exit.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_help_has_examples(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0 and "cepheid check readings.parquet" in out
    for command in ("run", "sql", "explain", "diagram", "check", "state", "why", "studio", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"cepheid {command}" in out.split("example", 1)[1]


def test_explain(run: Run) -> None:
    code, out, err = run("explain", "pattern.json")
    assert (code, err) == (0, "")
    assert "not followed by counter: reader = 'COUNTER'" in out
    assert "One run" in out or "All runs" in out
    assert "<section" in run("explain", "pattern.json", "--html")[1]


def test_a_pattern_may_be_a_file_or_a_text_json_or_sase(run: Run) -> None:
    texts = {
        run("diagram", given, "--format", "text", *more)[1]
        for given, more in (
            ("pattern.sase", ("--type-column", "reader")),
            (SASE, ("--type-column", "reader")),
            (Pattern.parse(SASE, type_column="reader").to_json(), ()),
        )
    }
    assert len(texts) == 1
    assert "✕ not followed by counter" in texts.pop()


def test_diagram_formats_follow_the_ending(run: Run) -> None:
    for name, begins in (("x.svg", "<svg"), ("deep/x.mmd", "flowchart"), ("x.dot", "digraph"), ("x.txt", "╭─")):
        code, out, _ = run("diagram", "pattern.json", "-o", name)
        assert (code, out.strip()) == (0, name)
        assert Path(name).read_text(encoding="utf-8").startswith(begins)
    code, _, err = run("diagram", "pattern.json", "-o", "x.png")
    assert code == 2 and ".svg" in err
    assert run("diagram", "pattern.json", "--of", "automaton")[1].startswith("variables: shelf, exit")


def test_check(run: Run) -> None:
    code, out, _ = run("check", "readings.parquet", "pattern.json", "--partition-by", "tag", "--order-by", "ts")
    assert code == 0
    assert "its conditions read: reader" in out
    assert "key: tag; order: ts" in out
    code, _, err = run("check", "readings.parquet", "pattern.json", "--partition-by", "tagg")
    assert code == 2 and "--partition-by='tagg' names no column" in err
    code, _, err = run("check", "readings.parquet", "pattern.json", "--order-by", "reader")
    assert code == 2
    code, _, err = run("check", "readings.parquet", "EVENT SEQ(A a, B b)", "--type-column", "raeder")
    assert code == 2 and "did you mean `reader`" in err
    assert run("check", "nowhere.parquet", "pattern.json")[0] == 2
    Path("text.parquet").write_text("no parquet", encoding="utf-8")
    code, _, err = run("check", "text.parquet", "pattern.json")
    assert code == 2 and "cannot be read as parquet" in err
    Path("readings.csv").write_text("tag,ts,reader\na,2025-01-01 10:00:00,EXIT\n", encoding="utf-8")
    code, out, _ = run("check", "readings.csv", "pattern.json", "--partition-by", "tag", "--order-by", "ts")
    assert code == 0 and "fits the 3 columns" in out


def test_errors_take_one_screen_and_no_trace(run: Run) -> None:
    Path("bad.json").write_text('{"cepheid": 1, "sequence": [{"link": "begin"}]}', encoding="utf-8")
    for arguments in (
        ("explain", "nowhere.json"),
        ("explain", "bad.json"),
        ("explain", "EVENT SEQ(A a,"),
        ("explain", "pattern.json", "--type-column", "x"),
        ("run", "nowhere.toml"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("cepheid: ")
        assert "Traceback" not in err and len(err.splitlines()) < 25
    code, _, err = run("explain", "nowhere.json", "--debug")
    assert code == 2 and "Traceback" in err
    assert run("nonsense")[0] == 2


ODD_PATTERNS = (
    "", "(", "{", "{}", "[]", "null", "5", '"x"', "\0", "x" * 5_000, "EVENT SEQ(", "EVENT SEQ(" + "A a, " * 3_000 + ")",
    '{"cepheid": 2}', '{"cepheid": 1, "sequence": 5}', '{"cepheid": 1, "sequence": [5]}',
    '{"cepheid": 1, "sequence": [{"link": "begin", "name": {}}]}', '{"cepheid": 1e400, "sequence": []}',
    '{"cepheid": 1, "sequence": [{"link": "begin", "name": "a", "where": 5}]}', "binary", "directory", "nowhere.json",
)  # fmt: skip
ODD_JOBS = {
    "binary.toml": bytes(range(256)),
    "deep.toml": b"a = " + b"[" * 5_000 + b"]" * 5_000,
    "empty.toml": b"",
    "latin.toml": "[source]\npath = 'Läden'".encode("latin-1"),
    "lists.toml": b"[[match]]\norder_by = 't'",
    "date.toml": b"[source]\npath = 2025-01-01",
}
ODD_DATA = ("", "\0", "nowhere.parquet", "binary", "directory.csv", "empty.csv")


def test_odd_files_and_texts_are_the_users_mistake(run: Run) -> None:
    """Whatever is given for a pattern, a job or data: exit code 2 and words of ours, never a trace."""
    Path("binary").write_bytes(bytes(range(256)))
    Path("empty.csv").write_bytes(b"")
    for name in ("directory", "directory.csv", "directory.toml", "directory.svg"):
        Path(name).mkdir()
    for name, content in ODD_JOBS.items():
        Path(name).write_bytes(content)
    calls: list[tuple[str, ...]] = [("explain", given) for given in ODD_PATTERNS]
    calls += [("run", name) for name in (*ODD_JOBS, "\0", "directory.toml")]
    calls += [("check", data, "pattern.json") for data in ODD_DATA]
    calls += [("diagram", "pattern.json", "-o", place) for place in ("directory.svg", "binary/x.svg")]
    calls += [("demo", "--tags", "-5"), ("demo", "--seed", "-1"), ("demo", "--tags", "many")]
    for call in calls:
        code, out, err = run(*call)
        assert (code, out) == (2, ""), (call, err)
        assert "Error: " not in err and "Traceback" not in err, (call, err)


def test_without_rich_the_command_line_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.cli.find_spec", lambda name: None)
    code, _, err = run("explain", "pattern.json")
    assert code == 2 and "pip install 'cepheid[cli]'" in err


def test_the_engine_is_prepared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare"]) == 0
    assert capsys.readouterr().out == "the engine is compiled\n"


def test_warnings_look_like_errors(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(arguments: object) -> int:
        warnings.warn("the pattern has no window", stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("cepheid.cli.showing._explain", warn)
    assert run("explain", "pattern.json") == (0, "", "cepheid: warning: the pattern has no window\n")


def test_what_cepheid_said_on_a_worker_is_found_in_sparks_traces() -> None:
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 1, in run\ncepheid.errors.InputError: 1 rows have no value in ts\n'
        "  Give those rows a value.\n\nJVM stacktrace:\n\tat org.apache.spark.X\n"
    )
    assert told(RuntimeError(text)) == "1 rows have no value in ts\n  Give those rows a value."
    long = RuntimeError("first\n" + "\n".join(f"\tat place{number}" for number in range(500)))
    assert told(long) == "RuntimeError: first\n  --debug shows all of it"


def test_the_demo_ends_with_a_timeline(run: Run) -> None:
    code, out, _ = run("demo", "--in-memory", "--tags", "300", "--output", "made/demo")
    assert code == 0
    assert "exactly those that were stolen" in out
    page = Path(out.strip().splitlines()[-1].rsplit(" ", 1)[1])
    assert page.is_file() and page.suffix == ".html"
    html = page.read_text(encoding="utf-8")
    assert "tag = tag-" in html and "no counter" in html


JOB = """
[source]
path = "in"
{source}
[pattern]
file = "pattern.json"
[match]
order_by = "ts"
[sinks.matches]
path = "out"
{rest}
"""


def job(source: str = "", rest: str = "", *changes: str):  # type: ignore[no-untyped-def]
    Path("job.toml").write_text(JOB.format(source=source, rest=rest), encoding="utf-8")
    return read_job("job.toml", list(changes))


def test_a_job_file(run: Run) -> None:
    read = job("", '[spark]\nspark.sql.ansi.enabled = true\n"spark.x" = 3')
    assert read.source.path == ("in",)
    assert read.match == {"order_by": "ts"}
    assert read.spark == {"spark.sql.ansi.enabled": "true", "spark.x": "3"}
    assert load_pattern(read.pattern).tree == SHOPLIFTING.tree
    changed = job("", "", 'match.order_by=["ts", "id"]', "sinks.matches.path=other place", "match.buckets=4")
    assert changed.match == {"order_by": ["ts", "id"], "buckets": 4}
    assert changed.sinks["matches"].path == "other place"
    assert job("stream = true", "[stream]\ncheckpoint = 'x'", "match.time=arrival").match["time"] == "arrival"


@pytest.mark.parametrize(
    ("source", "rest", "changes", "message"),
    [
        ("pth = 3", "", (), "Did you mean 'path'"),
        ("schema = 3", "", (), "schema = 3 is not a string"),
        ("", "[matches]", (), "unknown key 'matches'"),
        ("table = 'x'", "", (), "a path or a table, and not both"),
        ("", "[sinks.late]\npath = 'x'", (), "is for streams"),
        ("", "[stream]\ncheckpoint = 'x'", (), "stream = true"),
        ("stream = true", "", (), "needs a checkpoint"),
        ("stream = true", "[stream]\ncheckpoint = 'x'", ("sinks.matches.mode=append",), "mode is for batches"),
        ("stream = true", "[stream]\ncheckpoint = 'x'\nflush = 1", (), "flush = 1 is not true or false"),
        ("", "", ("nothing",), "not key=value"),
        ("", "", ("source.path.deep=1",), "path is a value"),
        ("", "", ("sinks.matches.mode=delete",), 'mode = "delete" is not known'),
        ("", "[sinks.timeline]", (), "needs a path"),
        ("", "[pattern", (), "is not TOML"),
        ("", "", ("match.watermark=soon",), "[match]: watermark = 'soon' is not a length of time"),
        ("", "", ("match.max_ahead=5",), "max_ahead = 5 is not a string"),
        ("", "", ("match.max_ahead=5 months",), "months and years differ in length"),
        ("", "[history]\npath = 'x'", (), "[history] comes before a stream"),
        ("stream = true", "[stream]\ncheckpoint = 'x'\n[history]\nstream = true\npath = 'x'", (), "is a batch"),
        (
            "stream = true",
            "[stream]\ncheckpoint = 'x'\n[history]\nseam = '2025-01-01'",
            (),
            "[history] needs a path or a",
        ),
        ("stream = true", "[stream]\ncheckpoint = 'x'\n[history]\npath = 'x'\nseam = 5", (), "string or a date with"),
        ("stream = true", "[stream]\ncheckpoint = 'x'\ntrigger = 'often'", (), '"10 seconds", or "available now"'),
    ],
)
def test_jobs_that_are_refused(run: Run, source: str, rest: str, changes: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        job(source, rest, *changes)
    assert message in str(caught.value)


def test_a_stream_job(run: Run) -> None:
    read = job("stream = true", '[stream]\ncheckpoint = "state"\ntrigger = "available now"')
    assert read.stream is not None
    assert (read.stream.checkpoint, read.stream.trigger, read.stream.flush) == ("state", "available now", False)
    other = job("stream = true", '[stream]\ncheckpoint = "state"\ntrigger = "5 seconds"\nflush = true')
    assert other.stream is not None
    assert other.stream.trigger == "5 seconds" and other.stream.flush
    assert (read.stream.on_error, other.stream.on_error) == ("stop", "stop")
    assert read.stream.history is None
    begun = '[stream]\ncheckpoint = "state"\n[history]\npath = "archive"\nseam = 2025-03-01T00:00:00'
    history = job("stream = true\nschema = 'ts TIMESTAMP'", begun).stream.history
    assert (history.source.path, history.source.schema) == (("archive",), "ts TIMESTAMP")
    assert history.seam == datetime(2025, 3, 1) and not history.source.is_stream


def test_a_job_with_several_tables(run: Run) -> None:
    text = """
    [sources.network]
    path = "net"
    elements = ["net", "scan"]
    [sources.pipe]
    path = "pipes"
    {more}
    [pattern]
    file = "pattern.json"
    [match]
    partition_by = {{ ip = {{ net = "host_ip", pipe = "source_ip", scan = "host_ip" }} }}
    [sinks.matches]
    path = "out"
    """
    Path("job.toml").write_text(text.format(more=""), encoding="utf-8")
    read = read_job("job.toml", [])
    assert {element: source.path for element, source in read.sources.items()} == {
        "net": ("net",),
        "scan": ("net",),
        "pipe": ("pipes",),
    }
    assert read.match["partition_by"]["ip"]["pipe"] == "source_ip"
    for more, message in {
        "stream = true": "some of [sources] are streams",
        "elements = 'net'": "[sources.pipe]: the element 'net' has a table already",
        "pth = 'x'": "[sources.pipe] has an unknown key 'pth'",
        "table = 'x'": "[sources.pipe] needs a path or a table",
        "[source]\npath = 'x'": "a job has [source], or [sources.NAME]",
    }.items():
        Path("job.toml").write_text(text.format(more=more), encoding="utf-8")
        with pytest.raises(InputError, match=re.escape(message)):
            read_job("job.toml", [])


def test_json_is_told_from_a_path(run: Run) -> None:
    assert json.loads(load_pattern(SHOPLIFTING.to_json()).to_json()) == json.loads(SHOPLIFTING.to_json())


def test_queries_that_are_refused(run: Run) -> None:
    for arguments, message in {
        ("sql", "missing.sql"): "there is no file 'missing.sql'",
        ("sql", "SELECT 1", "--table", "prices"): "does not say which name belongs to which file",
        ("sql", "SELECT 1", "--table", "a b=x.csv"): "does not say which name belongs to which file",
    }.items():
        code, _, err = run(*arguments)
        assert code == 2
        assert message in err


def test_the_live_table_of_a_stream() -> None:
    pytest.importorskip("pyspark")
    from cepheid.cli.streams import _line, _table, _totals
    from cepheid.spark.jobs import Figures, Watch
    from cepheid.spark.stream.accounts import Account

    watch = Watch.__new__(Watch)
    watch.seen = seen = {
        number: Figures(Account(number, 1_000, 700, 1, 0, 299, 2, 3, 10, 0, 0, 0), 0.5, 40, 5, 61.0 if number else None)
        for number in range(12)
    }
    shown = io.StringIO()
    Console(file=shown, width=80).print(_table(watch))
    text = shown.getvalue()
    assert "2,000" in text  # events a second
    assert "12,000" in text and "36" in text  # all events and timeouts, also those of batches no longer shown
    assert "1.0 min" in text and "…" not in text
    assert [line.split()[0] for line in text.splitlines()[2:12]] == [str(number) for number in range(2, 12)]
    assert _line(seen[3]) == (
        "batch 3: 1,000 events in 0.5 s, 700 irrelevant, 1 late, 0 rejected, 2 matches, 3 timeouts, 40 live runs, "
        "5 waiting"
    )
    assert _totals(watch) == (
        "12 micro-batches: 12,000 events, 8,400 irrelevant, 12 late, 0 rejected, 24 matches, 36 timeouts"
    )


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "examples:\n  cepheid demo" in capsys.readouterr().err
