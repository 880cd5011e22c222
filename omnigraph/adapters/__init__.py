"""Adapters: OmniGraph as the store of other frameworks, over its public handles.

langchain  a vector store, a retriever and a chat history for LangChain
documents  nodes of one type as texts with vectors and metadata, and queries for them
extras     which packages an adapter needs, and how to install them
"""
