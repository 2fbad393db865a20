"""The chart of accuracy over T."""

from heatgraph.cli.terminal_chart import MAX_BARS, bar_chart

CURVE = [(0.0, 0.45), (1.0, 0.7), (4.5, 0.8), (20.0, 0.75)]


def test_bars_are_as_long_as_accuracies_and_the_choice_is_marked():
    _, *bars, start = bar_chart(CURVE, 80, 4.4, unicode=False)
    lengths = [bar.count("#") for bar in bars]
    assert lengths.index(max(lengths)) == 2
    assert lengths[0] < lengths[1] < lengths[3] < lengths[2]
    assert bars[2].endswith("  < T = 4.4")
    assert sum("<" in bar for bar in bars) == 1
    assert start == "  bars begin at 40%"
    assert max(map(len, bars)) <= 80
    assert "".join(bars).isascii()


def test_unicode_has_eighths():
    lines = bar_chart(CURVE, 60, 4.5)
    assert "█" in lines[1]
    assert lines[3].endswith("◀ T = 4.5")
    assert max(map(len, lines)) <= 60


def test_equal_accuracies_and_none_chosen():
    lines = bar_chart([(0.0, 0.0), (1.0, 0.0)], 80)
    assert lines[1:3] == ["       0      0.0%", "       1      0.0%"]
    lines = bar_chart([(0.0, 1.0), (1.0, 1.0)], 80, unicode=False)
    assert lines[1].count("#") == lines[2].count("#") > 0


def test_many_times_are_thinned_but_the_best_is_kept():
    curve = [(T / 10, 0.5) for T in range(100)]
    curve[37] = (3.7, 0.9)
    lines = bar_chart(curve, 80)
    assert len(lines) <= MAX_BARS + 2
    assert any("90.0%" in line for line in lines)
