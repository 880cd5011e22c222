"""Cli: the command line `omnigraph`, one module for each family of commands.

    address      where the graph of a command is, as its options and the
                 configuration say together
    blob         writes the content of one Blob property
    change       runs a mutation and shows its receipt
    completing   what a shell offers for the next word of a command: names, and
                 kinds of files
    completion   the script that makes a shell complete `omnigraph`
    data         rows from files into a branch
    doctor       whether Python, Java, Spark and the store are fit for use
    embed        vectors for the records of a file, without a graph
    example      a bundled example as a folder of one's own, to run and to change
    explain      what an error code means, as the documentation says it
    export       the rows of a branch or commit, as lines or as files
    formats      the rows of a query as text: table, kv, csv, jsonl and json
    graph        the commands `init` and `snapshot`, and the families `branch` and
                 `commit`
    history      the commands `changes` and `blame`, and the families `tag` and
                 `run`
    local        answers commands with documents, about a graph that this process
                 opens itself
    main         the `omnigraph` command, its families, and how any failure ends
                 it
    maintenance  how a graph is kept in good order
    merge        how branches differ, and how they join
    names        the branches, tags and types of a graph for completion, kept
                 until the graph changes
    output       how results are shown
    policy       whether a policy is right, whether it decides as expected, and
                 why
    progress     a bar on stderr while long work runs, and nothing when stderr is
                 no terminal
    queries      the options with which a command says what to run, on which
                 graph, and with what
    query        the commands `query lint`, `query check` and `query explain`
    read         runs a query and shows its rows, or how they come about
    remote       answers commands with documents, about a graph that a server has
    report       a page of HTML about a graph that opens without a network
    schema       what a graph's types are, and become
    session      the one place that decides which graph a command works on, as
                 whom, and how it answers
    shell        queries and changes of one graph, typed one after the other
    spark        the options with which a command says where Spark runs
    statements   where a statement of the shell ends, and which words can come
                 next in it
    terminal     reads statements from a person, with history and completion, or
                 from a pipe
    terms        what the options of a command ask for, as values that either
                 backend takes
    upload       local files as one stream of JSON lines for a server, and where
                 its errors stand
"""
