"""Following: rows are ingested as they come, each once, whatever happens in between.

follow    the one loop: a source gives batches, each becomes one commit, bad rows are set aside
inbox     files that appear in a folder, each a batch
topic     the address of a topic of Kafka: its brokers and its name
settings  what a client of Kafka is told beside the address, from a file; the secrets are in it
position  how far a topic was read, kept in the message of the commit that has the rows
lines     messages of a topic as the lines of one load, and which of them its violations are about
reader    a consumer of Kafka that reads on from a position, within bounds, and skips nothing
stream    a topic of Kafka, whose messages are put together to batches
"""
