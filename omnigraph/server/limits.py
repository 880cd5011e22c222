"""Limits: how much the server takes of a connection, a request and an actor."""

import os
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may send and use; times are in seconds.

    `threads` requests are worked on at the same time, `share` of them for one actor when there are
    others, and `waiting` more of an actor may wait for their turn. An actor has at most `streams`
    answers that are too large to be made at once; each has to be taken within `answer_seconds`.
    It follows at most `feeds` branches at a time in one process.
    """

    body_bytes: int = MIB
    ingest_bytes: int = 32 * MIB
    header_bytes: int = 32 << 10
    header_count: int = 100
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    ingest_seconds: float = 300.0
    send_seconds: float = 60.0
    keep_alive_seconds: int = 15
    connections: int = 512
    address_connections: int = 256
    threads: int = 2 * (os.cpu_count() or 1)
    share: int = max(1, (os.cpu_count() or 1) // 2)
    waiting: int = 64
    query_seconds: float = 60.0
    query_bytes: int = 1024 * MIB
    answer_seconds: float = 600.0
    streams: int = 2 * (os.cpu_count() or 1)
    feeds: int = 32
    export_seconds: float = 3600.0
    export_bytes: int = 64 * 1024 * MIB
    write_seconds: float = 600.0
    stop_seconds: float = 30.0
