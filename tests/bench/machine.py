"""What the figures were measured on: the machine and the versions, without anything that names this one machine."""

import os
import platform
import re
from pathlib import Path

import harness
from peer_servers import CosId, call
from servers.mongod_binary import find_mongod

VERSION = re.compile(r"\d+(?:\.\d+)+")


def cpu_model() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else platform.machine()


def memory_gib() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30))


def describe() -> dict:
    kernel = re.match(r"[\d.]*\d", platform.release()).group(0)  # without what names one build of it
    return {"machine": f"Linux {kernel}, {platform.machine()}", "kernel": kernel, "cpu": cpu_model(), "cpus": os.cpu_count(),
            "memory_gib": memory_gib(), "load_before": round(os.getloadavg()[0], 1)}


def versions() -> dict:
    def of(*command) -> str:
        return VERSION.search(call([*map(str, command)])).group(0)
    cosid = re.search(r"<artifactId>cosid-mongo</artifactId>\s*<version>([\d.]+)", (CosId.RECIPE / "pom.xml").read_text())
    return {"seqd": of(harness.SEQD, "--version"), "Redis": of("redis-server", "--version"), "PostgreSQL": of("pg_config", "--version"),
            "mongod": of(find_mongod(), "--version"), "LMDB": of("dpkg-query", "-W", "liblmdb0"), "CosId": cosid.group(1),
            "JVM": of("java", "-version")}
