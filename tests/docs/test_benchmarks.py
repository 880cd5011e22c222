"""The page of the benchmarks says what the stored runs found."""

import json
import re
from pathlib import Path

import pytest

from bench import page, record
from bench.figures import FIGURES, Figure, Held, held
from bench.page import DOCS, GROWTH_CHART, QUESTIONS_CHART
from bench.record import DATA_SEED, Timing, exponent, over, rate, store, stored
from bench.run import WORKLOADS, Ran, Run


def test_the_page_and_its_charts_are_those_of_the_stored_runs() -> None:
    assert (DOCS / "benchmarks.md").read_text() == page.page()
    assert (DOCS / "comparison.md").read_text() == page.comparison()
    assert (DOCS / QUESTIONS_CHART).read_text() == page.questions_chart()
    assert (DOCS / GROWTH_CHART).read_text() == page.growth_chart()


def test_every_figure_is_in_the_stored_run_of_its_workload() -> None:
    missing = [each.figure for each in held(FIGURES) if each.value is None]

    assert [each.what for each in missing if stored(each.workload) is not None] == []


# It needs programs that no package index has.
_BY_HAND = {"upstream"}


def test_every_module_that_stores_a_run_is_run_with_all_others() -> None:
    modules = (path for path in Path(page.__file__).parent.glob("*.py") if path.stem != "record")
    stores = re.compile(r"\bstore\(\s*[\"']")

    found = {each.stem for each in modules if stores.search(each.read_text())}
    assert found == {*WORKLOADS, *_BY_HAND}


def test_a_figure_is_held_up_to_its_bound_and_no_further() -> None:
    most = Figure(area="", workload="", finding="", what="", most=2)
    least = Figure(area="", workload="", finding="", what="", least=2)

    assert [Held(most, value).verdict for value in (1.9, 2, 2.1)] == ["pass", "pass", "short"]
    assert [Held(least, value).verdict for value in (1.9, 2, 2.1)] == ["short", "pass", "pass"]
    assert Held(least, None).verdict == "not measured"


def test_the_page_says_why_a_figure_falls_short() -> None:
    below = [each for each in held(FIGURES) if each.verdict == "short"]
    told = page.page()

    assert all(f"{each.figure.what} | {each.shown} |" in told for each in below)
    assert all(each.figure.cause in told for each in below)
    assert Figure(area="", workload="", finding="", what="").cause == "Not known."


def test_a_stored_run_names_the_machine_the_commit_the_versions_and_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "commit_of_tree", lambda: "575ed12b")
    monkeypatch.setattr(record, "RESULTS", tmp_path)

    found = json.loads(store("some", ["pyarrow"], {"time": Timing(2, 1, 3, 5)}).read_text())

    assert found["commit"] == "575ed12b"
    assert found["packages"].keys() == {"omnigraph", "pyarrow"}
    assert found["machine"].keys() >= {"cores", "memory_gb", "python"}
    assert found["seed"] == DATA_SEED
    assert found["findings"] == {"time": {"median_ms": 2, "low_ms": 1, "high_ms": 3, "runs": 5}}


def test_what_is_made_of_timings_has_the_spread_that_they_allow() -> None:
    small, large = Timing(1, 0.5, 2, 9), Timing(10, 8, 20, 9)

    assert over(large, small) == record.Derived(10, 4, 40)
    assert rate(5, small) == record.Derived(5_000, 2_500, 10_000)
    assert exponent(small, large, 10).value == pytest.approx(1)
    assert exponent(small, large, 100).value == pytest.approx(0.5)
    assert exponent(small, small, 100).value == 0


def test_the_page_says_which_workloads_are_not_from_the_last_run_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = {name: {"at": f"2026-01-01T12:{at:02d}"} for at, name in enumerate(WORKLOADS)}
    last = Run("2026-01-01T12:01", "2026-01-01T12:59", (Ran("compile", 120.0, failed=True),))
    monkeypatch.setattr(page, "stored", runs.get)
    monkeypatch.setattr(page, "last_run", lambda: last)

    assert f"Not from it: {WORKLOADS[0]}." in page.run_in_words()

    runs[WORKLOADS[0]] = {"at": last.begun}

    assert "everything here is from it" in page.run_in_words()
