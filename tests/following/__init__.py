"""Tests of topics of Kafka that are followed: each message is ingested once."""
