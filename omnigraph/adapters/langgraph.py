"""Langgraph: a checkpointer and a store for LangGraph, over public handles."""

from omnigraph.adapters.langgraph_saver import CHECKPOINT_SCHEMA, OmniGraphSaver
from omnigraph.adapters.langgraph_store import OmniGraphStore, store_schema

__all__ = ["CHECKPOINT_SCHEMA", "OmniGraphSaver", "OmniGraphStore", "store_schema"]
