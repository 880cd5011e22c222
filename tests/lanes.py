"""Lanes: which tests run when: quick ones at every change, long ones in CI.

`make quick` runs the folders and files of QUICK. `make test` runs all tests but those of LONG, and
`make test-long` runs these. Every promise has a test outside of LONG; what is there are its random,
repeated and killed forms.
"""

QUICK = (
    "tests/architecture/test_architecture.py",
    "tests/architecture/test_surface.py",
    "tests/languages",
    "tests/config",
    "tests/embedding",
    "tests/policy/test_rules.py",
    "tests/policy/test_decisions.py",
    "tests/api/test_handles.py",
    "tests/changes/test_statements.py",
    "tests/merging/test_conflicts.py",
    "tests/evolution/test_applied.py",
    "tests/maintenance/test_retention.py",
    "tests/engine/test_meaning.py",
    "tests/report",
)

LONG = (
    "tests/changes/test_kills.py",
    "tests/changes/test_random_programs.py",
    "tests/crashes/test_kill_minus_nine.py",
    "tests/crashes/test_power_loss.py",
    "tests/docs/test_walks.py",
    "tests/engine/test_random_queries.py",
    "tests/evolution/test_kills.py",
    "tests/evolution/test_random_schemas.py",
    "tests/merging/test_histories.py",
    "tests/merging/test_kills.py",
    "tests/pipeline/test_session.py",
    "tests/pipeline/test_spark_queries.py",
    "tests/properties/test_graph_model.py",
    "tests/server/test_bootstrap.py",
)
