"""The store: transactions, search, retraction, proofs, many processes, and what goes wrong."""

import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from insights_db import schema
from insights_db.errors import StoreError
from insights_db.migrations import migrations
from insights_db.records import Candidate, Insight, Proof, ProofStatus
from insights_db.search import quoted
from insights_db.store import Store, new_session

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def opened(folder: Path, *sessions: str) -> Store:
    store = Store(folder / "kshell.db")
    for name in sessions:
        store.add_session(new_session(name, "relu", {"n": 64}, device="cpu", generator="fake", seed=1))
    return store


def insight(after: str = "b", **others: object) -> Insight:
    values = {
        "strategy": "vector width 1 -> 4",
        "family": "elementwise",
        "device": "cpu",
        "before": "a",
        "after": after,
        "change": 0.5,
        "effective": True,
        "sentence": "four floats at once are 1.5 times as fast",
    }
    return Insight.model_validate({**values, **others})


def test_events_come_back_in_order_and_from_where_one_left_off(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store:
        for number in range(1, 1203):
            with store.write() as writer:
                writer.event("s", number, "problem", NOW, f'{{"n": {number}}}')
        assert list(store.events("s")) == [f'{{"n": {n}}}' for n in range(1, 1203)]
        assert list(store.events("s", after=1200)) == ['{"n": 1201}', '{"n": 1202}']
        assert store.last_seq("s") == 1202 and store.last_seq("other") == 0


def test_a_transaction_that_raises_keeps_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store:
        with pytest.raises(RuntimeError), store.write() as writer:
            writer.event("s", 1, "problem", NOW, "{}")
            raise RuntimeError
        assert store.last_seq("s") == 0


def test_an_event_number_is_used_once(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store:
        with store.write() as writer:
            writer.event("s", 1, "problem", NOW, "{}")
        with pytest.raises(StoreError, match="UNIQUE"), store.write() as writer:
            writer.event("s", 1, "problem", NOW, "{}")


def test_session_names_are_taken_once_and_free_again_after_deletion(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store:
        record = store.session("s")
        assert record is not None and record.axes == {"n": 64} and record.state == "running"
        with pytest.raises(ValueError, match="'s' already"):
            store.add_session(record)
        with store.write() as writer:
            writer.event("s", 1, "problem", NOW, "{}")
            writer.insight("s", "relu", insight())
        assert store.delete_session("s") and not store.delete_session("s")
        assert store.counts()["events"] == 0 and store.counts()["insights"] == 1
        store.add_session(record)


@pytest.mark.parametrize("query", ["fast", "FLOATS", "width C++", "ld.global.v4 fast", '"fast', "vector*"])
def test_search_finds_any_of_the_words(tmp_path: Path, query: str) -> None:
    with opened(tmp_path, "s") as store, store.write() as writer:
        number = writer.insight("s", "relu", insight())
        assert [found.id for found in store.insights(query)] == [number]


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_a_valid_search(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
    match = quoted(text.replace("\0", ""))
    if match:
        connection.execute("SELECT * FROM words WHERE words MATCH ?", (match,)).fetchall()
    connection.close()


def test_search_narrows_by_family_and_device_and_puts_effective_first(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store, store.write() as writer:
        weak = writer.insight("s", "relu", insight("c", change=0.1))
        useless = writer.insight("s", "relu", insight("d", change=-3.0, effective=False))
        strong = writer.insight("s", "relu", insight("e", change=2.0))
        writer.insight("s", "gemm", insight("f", family="matmul"))
        writer.insight("s", "relu", insight("g", device="cuda"))
        found = store.insights(family="elementwise", device="cpu")
        assert [each.id for each in found] == [strong, weak, useless]


def test_insights_fall_with_the_candidate_behind_them(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store:
        with store.write() as writer:
            writer.insight("s", "relu", insight("b"))
            child = writer.insight("s", "relu", insight("c", before="b"))
            other = writer.insight("s", "relu", insight("d"))
            assert writer.retract("b") == 2
            assert writer.retract("b") == 0
        assert [each.id for each in store.insights("fast")] == [other]
        everything = store.insights("fast", retracted=True)
        assert {each.id: each.retracted for each in everything}[child] is True and len(everything) == 3


def test_a_closed_proof_is_found_by_its_key_and_never_replaced(tmp_path: Path) -> None:
    def proof(key: str, status: ProofStatus) -> Proof:
        return Proof(candidate="a", key=key, status=status)

    with opened(tmp_path, "s") as store:
        with store.write() as writer:
            writer.proof(proof("k", ProofStatus.UNPROVEN))
            writer.proof(proof("k", ProofStatus.PROVEN))
            writer.proof(proof("k", ProofStatus.UNPROVEN))
            writer.proof(proof("e", ProofStatus.ERROR))
            writer.proof(proof("", ProofStatus.PROVEN))
        found = store.proof("k")
        assert found is not None and found.status is ProofStatus.PROVEN
        assert store.proof("e") is None and store.proof("") is None
        assert len(store.proofs("a")) == 1


def test_candidates_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    with opened(tmp_path, "s", "t") as store:
        with store.write() as writer:
            for name, identity in (("s", "abc123"), ("t", "abd456")):
                writer.candidate(
                    name,
                    Candidate(id=identity, source="x", task="relu", round=1, index=0, proposer="p"),
                )
        assert [found.id for _, found in store.candidate("ab")] == ["abc123", "abd456"]
        assert [name for name, _ in store.candidate("ab", "t")] == ["t"]
        assert store.candidate("%") == store.candidate("") and store.candidate("zz") == []


def test_requests_are_taken_once_in_order(tmp_path: Path) -> None:
    with opened(tmp_path, "s", "t") as store:
        store.ask("s", "pin", "abc")
        store.ask("t", "stop")
        store.ask("s", "stop")
        assert store.asked("s") == [("pin", "abc"), ("stop", "")]
        assert store.asked("s") == [] and store.asked("t") == [("stop", "")]


WRITER = """
import sys
from datetime import datetime, UTC
from pathlib import Path
from insights_db.store import Store
with Store(Path(sys.argv[1])) as store:
    for number in range(1, 101):
        with store.write() as writer:
            writer.event(sys.argv[2], number, "problem", datetime.now(UTC), "{}")
"""


def test_processes_and_threads_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, "p", "q", "t", "u") as store:
        processes = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(store.path), name]) for name in ("p", "q")
        ]

        def write(name: str) -> None:
            for number in range(1, 101):
                with store.write() as writer:
                    writer.event(name, number, "problem", NOW, "{}")

        threads = [threading.Thread(target=write, args=(name,)) for name in ("t", "u")]
        for thread in threads:
            thread.start()
        seen = 0
        while any(process.poll() is None for process in processes):
            now = store.counts()["events"]
            assert now >= seen
            seen = now
        for thread in threads:
            thread.join()
        assert [process.returncode for process in processes] == [0, 0]
        assert store.counts()["events"] == 400


def test_many_processes_may_make_the_database_at_once(tmp_path: Path) -> None:
    code = "import sys; from insights_db.store import Store; Store(sys.argv[1]).close()"
    path = str(tmp_path / "kshell.db")
    processes = [subprocess.Popen([sys.executable, "-c", code, path]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]


def test_the_list_of_migrations_is_the_one_that_is_applied() -> None:
    assert [migration.name for migration in migrations._migrations] == list(schema.NAMES)


# --- what goes wrong is one line that says what to do ---


def test_a_locked_database(tmp_path: Path) -> None:
    opened(tmp_path, "s").close()
    other = sqlite3.connect(tmp_path / "kshell.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store(tmp_path / "kshell.db", wait=0.05) as store:
        assert store.session("s") is not None
        with pytest.raises(StoreError, match="locked by another process") as caught, store.write() as writer:
            writer.event("s", 1, "problem", NOW, "{}")
    other.close()
    assert "\n" not in str(caught.value)


def test_a_full_disk(tmp_path: Path) -> None:
    with opened(tmp_path, "s") as store:
        pages = store._connection.raw.execute("PRAGMA page_count").fetchone()[0]
        store._connection.raw.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="disk is full"):
            for number in range(1, 100):
                with store.write() as writer:
                    writer.event("s", number, "problem", NOW, "x" * 4000)
        assert 0 < store.last_seq("s") < 100
        store._connection.raw.execute("PRAGMA max_page_count = 100000")
        with store.write() as writer:
            writer.event("s", 100, "problem", NOW, "{}")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "kshell.db").write_text("not a database, but long enough to have a header of its own\n" * 40)
    with pytest.raises(StoreError, match="not a kshell database"):
        Store(tmp_path / "kshell.db")


def test_a_folder_where_the_database_should_be(tmp_path: Path) -> None:
    (tmp_path / "kshell.db").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "kshell.db")


def test_a_database_of_a_newer_version(tmp_path: Path) -> None:
    with opened(tmp_path) as store, store._connection.transaction() as raw:
        raw.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kshell', 'later', '')"
        )
    with pytest.raises(StoreError, match="newer kshell"):
        Store(tmp_path / "kshell.db")


def test_a_file_size_limit_looks_like_a_full_disk(tmp_path: Path) -> None:
    """The operating system refuses to grow the file, as it does when a quota is used up."""
    code = f"""
import resource, signal, sys
from insights_db import schema
from insights_db.errors import StoreError
from insights_db.store import Store, new_session
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store({str(tmp_path / "kshell.db")!r})
store.add_session(new_session("s", "relu", {{}}, device="cpu", generator="g", seed=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(1, 1000):
        with store.write() as writer:
            from datetime import datetime, UTC
            writer.event("s", number, "problem", datetime.now(UTC), "x" * 4000)
except StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the disk is full" in done.stdout and done.stdout.count("\n") == 1
