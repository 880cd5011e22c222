"""Adapters: OmniGraph as the store of other frameworks, over its public handles.

langchain           a vector store, a retriever and a chat history for LangChain
documents           nodes of one type as texts with vectors and metadata, and queries for them
langgraph           a checkpointer and a store for LangGraph
langgraph_saver     checkpoints: a thread is a branch, and each checkpoint a commit of it
langgraph_store     what agents remember across threads, as nodes of one type
llamaindex          a property graph store and a vector store for LlamaIndex
llamaindex_graph    entities, chunks and relations, as nodes of one type and edges of one
llamaindex_vectors  nodes with vectors, as documents of a graph
llamaindex_filters  filters of metadata as conditions of a query
rows                nodes by their keys, read and deleted in few requests
extras              which packages an adapter needs, and how to install them
"""
