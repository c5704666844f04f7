"""The databases of a site with several hosts, each of which can be backed up and put back as an administrator would do it:
an SQLite file by SQLite's own backup, a MongoDB server by its data directory, a replica set collection by collection while it
runs, DynamoDB by a scan of each table and a put of each item."""

import contextlib
import random
import shutil
import sqlite3
from typing import Dict

TABLE, KEY, NUMBER = "NextId", "NextKey", "NextId"


class SqliteFile:
    """One file that all hosts of the site use."""

    live = False  # whether it can be put back while daemons use it

    def __init__(self, scratch):
        self.path = scratch / "shared.db"
        self.copy = scratch / "copy.db"
        self.stores = {"main": {"type": "sqlite", "path": self.path}}
        self.sequence: dict = {}
        self.environment: Dict[str, str] = {}

    def back_up(self) -> None:
        with contextlib.closing(sqlite3.connect(self.path)) as source, contextlib.closing(sqlite3.connect(self.copy)) as target:
            source.backup(target)

    def put_back(self) -> None:
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        shutil.copy2(self.copy, self.path)

    def beats(self) -> dict:
        with contextlib.closing(sqlite3.connect(self.path)) as file, contextlib.suppress(sqlite3.OperationalError):
            return dict(file.execute("SELECT hex(id), beat FROM heartbeat").fetchall())
        return {}

    def close(self) -> None:
        pass


class MongoDirectory:
    """A server alone, whose directory is copied while it is stopped."""

    live = True

    def __init__(self, server):
        self.server = server
        self.data = server.directory / "data"
        self.copy = server.directory / "copy"
        self.stores = {"main": {"type": "mongodb", "uri": server.uri(), "database": "site", "timeout": "2s"}}
        self.sequence = {"meaning": "last"}
        self.environment: Dict[str, str] = {}

    def _replace(self, source, target) -> None:
        self.server.stop()
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        self.server.start()

    def back_up(self) -> None:
        self._replace(self.data, self.copy)

    def put_back(self) -> None:
        self._replace(self.copy, self.data)

    def beats(self) -> dict:
        entries = self.server.client()["site"]["seqd_instances"].find({"beat": {"$exists": True}})
        return {entry["_id"]: entry["beat"] for entry in entries}

    def close(self) -> None:
        pass


class MongoCollections:
    """A replica set, of which every collection is read and put back while it runs, as mongodump and mongorestore do."""

    live = True

    def __init__(self, servers):
        self.servers = servers
        self.name = f"site{random.randrange(1 << 40)}"
        self.stores = {"main": {"type": "mongodb", "uri": servers.uri(), "database": self.name}}
        self.sequence = {"meaning": "last"}
        self.environment: Dict[str, str] = {}
        self.copy: Dict[str, list] = {}

    def _database(self):
        return self.servers.primary().client()[self.name]

    def back_up(self) -> None:
        database = self._database()
        self.copy = {name: list(database[name].find()) for name in database.list_collection_names()}

    def put_back(self) -> None:
        database = self._database()
        for name in database.list_collection_names():
            database[name].delete_many({})
        for name, documents in self.copy.items():
            if documents:
                database[name].insert_many(documents)

    def beats(self) -> dict:
        return {entry["_id"]: entry["beat"] for entry in self._database()["seqd_instances"].find({"beat": {"$exists": True}})}

    def close(self) -> None:
        pass


class DynamoTables:
    """The table of counters and instances."""

    live = True

    def __init__(self, server, key):
        self.caller = server.caller(key)
        self.caller.create_table(TABLE, KEY)
        self.stores = {"main": {"type": "dynamodb", "region": "us-east-1", "endpoint": server.endpoint(),
                                "instances_table": TABLE, "instances_key": KEY}}
        self.sequence = {"collection": TABLE, "key_field": KEY, "counter_field": NUMBER, "meaning": "last"}
        self.environment = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "any"}
        self.copy: list = []

    def _items(self) -> list:
        return self.caller.call("Scan", {"TableName": TABLE, "ConsistentRead": True})["Items"]

    def back_up(self) -> None:
        self.copy = self._items()

    def put_back(self) -> None:
        for item in self._items():
            self.caller.call("DeleteItem", {"TableName": TABLE, "Key": {KEY: item[KEY]}})
        for item in self.copy:
            self.caller.call("PutItem", {"TableName": TABLE, "Item": item})

    def beats(self) -> dict:
        return {item[KEY]["S"]: int(item["seqd_beat"]["N"]) for item in self._items() if "seqd_beat" in item}

    def close(self) -> None:
        self.caller.close()
