"""Aio: the handles `Graph`, `View` and `Branch`, whose methods are awaited.

opening    makes, opens and connects to graphs
handles    the handles themselves, made from the blocking ones
handle     a blocking handle, and the threads in which its methods run
queries    stored queries, each an async function of its parameters
computed   the rows of an algorithm, whose writing is awaited
items      what is read as it is used: items, batches, changes and blocks
calls      runs what blocks in threads; a cancelled task cancels what it waits for
backend    a graph at hand whose operations end when their call is cancelled
transport  requests of threads, on the connections of one event loop
"""

from omnigraph.aio.handles import AsyncBranch as Branch
from omnigraph.aio.handles import AsyncGraph as Graph
from omnigraph.aio.handles import AsyncView as View
from omnigraph.aio.opening import connect, init, open, restore  # noqa: A004

__all__ = ["Branch", "Graph", "View", "connect", "init", "open", "restore"]
