"""The page of the benchmarks says what the stored runs found."""

from bench.figures import FIGURES, Figure, Held, held
from bench.page import CHART, DOCS, chart, page


def test_the_page_and_its_chart_are_those_of_the_stored_runs() -> None:
    assert (DOCS / "benchmarks.md").read_text() == page()
    assert (DOCS / CHART).read_text() == chart()


def test_every_figure_has_a_stored_run() -> None:
    assert [each.figure.what for each in held(FIGURES) if each.value is None] == []


def test_a_figure_is_held_up_to_its_bound_and_no_further() -> None:
    most = Figure(area="", workload="", finding="", what="", most=2)
    least = Figure(area="", workload="", finding="", what="", least=2)

    assert [Held(most, value).verdict for value in (1.9, 2, 2.1)] == ["pass", "pass", "short"]
    assert [Held(least, value).verdict for value in (1.9, 2, 2.1)] == ["short", "pass", "pass"]
    assert Held(least, None).verdict == "not measured"
