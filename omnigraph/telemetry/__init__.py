"""Telemetry: what work is going on and how long it takes, for whoever watches.

spans  pieces of work with a beginning and an end; nothing while nobody watches
otel   hands spans and measurements to OpenTelemetry, as its variables say
"""
