"""What the tests of the pipeline share: one Spark session, and one Spark Connect server."""

import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from omnigraph.spark.session import session, stop
from omnigraph.spark.settings import SparkSettings
from tests.pipeline.drivers import Driver
from tests.pipeline.loads import engine
from tests.pipeline.purse import purse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["connect_server", "engine", "purse", "spark"]


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """A session on two cores; it starts with the first test that asks for it."""
    yield session(SparkSettings(master="local[2]"))
    stop()


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server, which another process runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = f"""
conf = {{
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "{port}",
}}
session(SparkSettings("local[2]", conf=conf))
say(up=True)
signal.pause()
"""
    driver = Driver(script, tmp_path_factory.mktemp("server"), os.environ)
    try:
        assert driver.heard() == {"up": True}
        yield f"sc://127.0.0.1:{port}"
    finally:
        driver.close()
