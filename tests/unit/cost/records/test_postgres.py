"""Whatever stands where the store should be in a database: there is a store, or one error that says what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store, open_store
from intarsia.errors import BackendUnavailableError, ConfigError
from tests.postgres import PASSWORD, Cluster

KEY = Key(facts={"n": 1})
ROW = {"ms": [1.5]}


@pytest.fixture
def schema(cluster: Cluster) -> str:
    return cluster.schema()


def refused(url: str, words: str) -> str:
    """What the error says."""
    with pytest.raises(ConfigError, match=words) as told:
        open_store(url)
    text = str(told.value)
    assert "\n" not in text
    assert text.endswith("; name another with --store")
    assert PASSWORD not in text
    return text


def test_a_store_is_made_once_by_several(cluster: Cluster, schema: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(Store, [cluster.url(schema)] * 8))
    stores[0].put("nodes", KEY, ROW, {})
    assert [store.get(KEY, "nodes") for store in stores] == [ROW] * 8
    assert len({store.folder for store in stores}) == 1
    assert stores[0].folder != Store(cluster.url(cluster.schema())).folder


def test_a_table_of_something_else_is_left_alone(cluster: Cluster, schema: str) -> None:
    cluster.sql(
        "CREATE TABLE intarsia_record (key text)", "INSERT INTO intarsia_record VALUES ('theirs')", schema=schema
    )
    refused(cluster.url(schema), "its intarsia_record is something else's")
    assert cluster.sql("SELECT * FROM intarsia_record", schema=schema) == [("theirs",)]


def test_a_view_is_something_else(cluster: Cluster, schema: str) -> None:
    cluster.sql("CREATE VIEW intarsia_record AS SELECT 1 AS key", schema=schema)
    refused(cluster.url(schema), "its intarsia_record is something else's")


def test_a_store_of_another_version_is_refused(cluster: Cluster, schema: str) -> None:
    Store(cluster.url(schema))
    cluster.sql("COMMENT ON TABLE intarsia_record IS 'records of Intarsia, format 99'", schema=schema)
    refused(cluster.url(schema), "record store of format 99, this Intarsia reads 1")


def test_other_columns_are_refused(cluster: Cluster, schema: str) -> None:
    Store(cluster.url(schema)).put("nodes", KEY, ROW, {})
    cluster.sql("ALTER TABLE intarsia_record ALTER made_at TYPE text", schema=schema)
    refused(cluster.url(schema), r"has the columns key text, .* made_at text; restore it, or drop it")


def test_a_role_that_may_not_write_is_refused(cluster: Cluster, schema: str) -> None:
    Store(cluster.url(schema))
    cluster.sql("GRANT SELECT, INSERT ON intarsia_record TO guest", schema=schema)
    refused(cluster.url(schema, "guest"), "may not write to it; its owner grants it: GRANT SELECT, INSERT, DELETE")
    cluster.sql("GRANT DELETE ON intarsia_record TO guest", schema=schema)
    Store(cluster.url(schema, "guest")).put("nodes", KEY, ROW, {})
    assert Store(cluster.url(schema)).get(KEY, "nodes") == ROW


def test_a_role_that_may_not_make_the_table_is_told(cluster: Cluster) -> None:
    cluster.sql("CREATE SCHEMA closed", "GRANT USAGE ON SCHEMA closed TO guest")
    refused(cluster.url("closed", "guest"), "permission denied for schema closed.*needs CREATE on its schema")
    refused(cluster.url("nowhere", "guest"), "no schema has been selected.*csearch_path")


def test_a_database_that_only_reads_is_told(cluster: Cluster, schema: str) -> None:
    Store(cluster.url(schema))
    refused(f"{cluster.url(schema)}%20-cdefault_transaction_read_only%3Don", "name the primary")


def test_who_is_not_let_in_is_told(cluster: Cluster, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    refused(cluster.tcp(schema, password="wrong"), "user or password is wrong; say it by PGPASSWORD or in ~/.pgpass")
    refused(cluster.tcp(schema, password=""), "asks for a password; say it by PGPASSWORD")
    refused(cluster.url(schema, "nobody-here"), 'role "nobody-here" does not exist.*create it')
    refused(cluster.url(schema, database="gone"), 'database "gone" does not exist.*create it')
    refused(f"{cluster.tcp(schema)}&sslmode=require", "SSL.*see to .sslmode")


def test_a_password_comes_by_url_variable_or_file(
    cluster: Cluster, schema: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    store = open_store(cluster.tcp(schema))
    store.put("nodes", KEY, ROW, {})
    assert store.place == cluster.tcp(schema, password="")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert open_store(cluster.tcp(schema, password="")).get(KEY, "nodes") == ROW
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path_factory.mktemp("home") / "pgpass"
    escaped = re.sub(r"([:\\])", r"\\\1", PASSWORD)
    file.write_text(f"127.0.0.1:{cluster.port}:*:guest:{escaped}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert open_store(cluster.tcp(schema, password="")).folder == store.folder


def test_without_the_package_it_says_how_to_install_it() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from intarsia.cost.records.store import open_store\n"
        "open_store('postgresql://u:secret@h/d')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "intarsia.errors.BackendUnavailableError" in done.stderr
    assert "pip install 'intarsia[postgres]'" in done.stderr
    assert "secret" not in done.stderr.rpartition("BackendUnavailableError")[2]
    assert BackendUnavailableError.exit_code == 3
