"""Many states: reading them from JSON lines and tables, percentiles, what a limit cuts."""

import pytest

from clef_model.diagnostics.lengths import WHOLE, percentile, read_states, read_table, spread
from clef_model.errors import ClefError


def test_a_percentile_is_a_length_that_occurs() -> None:
    assert [percentile(list(range(1, 101)), percent) for percent in (50, 95, 99)] == [50, 95, 99]
    assert percentile([7], 50) == 7


def test_the_limit_that_keeps_99_in_100_whole_leaves_the_longest_cut() -> None:
    lengths = [10] * 99 + [500]
    found = spread(lengths, fixed=100, max_length=120)
    assert (found.whole_limit, found.room, found.num_cut) == (110, 20, 1)
    assert spread(lengths, fixed=100, max_length=found.whole_limit).num_cut == 1


def test_a_limit_of_the_state_narrows_the_room() -> None:
    assert spread([5, 15], fixed=100, max_length=200, max_state_tokens=10).num_cut == 1


def test_questions_that_fill_the_limit_leave_no_room() -> None:
    assert spread([0, 1], fixed=300, max_length=200).room == 0


@pytest.mark.parametrize("lengths", [[1], [0, 1000], list(range(500)), [3, 3, 3]])
def test_the_bins_hold_every_state_once(lengths: list[int]) -> None:
    bins = spread(lengths, fixed=0, max_length=1).bins
    assert sum(count for _, _, count in bins) == len(lengths)
    assert len(bins) <= 30


def test_no_state_is_said_so() -> None:
    with pytest.raises(ClefError, match="There is no state to count"):
        spread([], fixed=0, max_length=1)


def test_json_lines_are_states_as_the_model_reads_them() -> None:
    states = read_states('{"b": 1.0, "a": 2}\n"text"\n\n12345678901234567890123', "jsonl", WHOLE)
    assert states.texts == ('{"a":2,"b":1.0}', "text", "12345678901234567890123")


def test_a_key_of_each_line_can_be_the_state() -> None:
    states = read_states('{"state": {"x": 1}}\n{"other": 1}\n{', "jsonl", "state", first_line=7)
    assert states.texts == ('{"x":1}',)
    assert [line for line, _ in states.problems] == [8, 9]
    assert states.problems[0] == (8, "the line has no 'state'")


def test_requests_are_known_by_their_keys() -> None:
    assert read_table('{"state": 1, "questions": {}}\n', "x.jsonl").suggested == "state"
    assert read_table('{"subject": 1}\n', "x.jsonl").suggested == WHOLE


def test_a_table_has_quoted_cells_with_line_ends() -> None:
    header = "id,text"
    assert read_table(header + '\n1,"a"', "x.csv").suggested == "text"
    states = read_states('1,"two\nlines, ""quoted"""\n2,plain\n', "csv", "text", header)
    assert states.texts == ('two\nlines, "quoted"', "plain")


def test_a_table_may_be_parted_by_semicolons_or_tabs() -> None:
    assert read_table("id;text;n\n", "x.csv").columns == ("id", "text", "n")
    assert read_states("1\thello, world\n", "csv", "text", "id\ttext").texts == ("hello, world",)


def test_a_row_without_the_column_is_named() -> None:
    assert read_states("1\n", "csv", "text", "id,text", 5).problems == ((5, "the row has no column 'text'"),)


def test_a_file_that_is_neither_says_what_is_expected() -> None:
    with pytest.raises(ClefError, match=r"notes\.txt: the first line is no JSON"):
        read_table("hello\n", "notes.txt")
