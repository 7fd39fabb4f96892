"""Ids of cases, and durations beside marks."""

from pathlib import Path

from tests.durations import Row, read, rows, to_mark, to_unmark

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_quick" time="0.5"/>
<testcase classname="tests.test_a" name="test_long[1]" time="2.6"/>
<testcase classname="tests.test_a" name="test_long[2]" time="30"><properties/></testcase>
<testcase classname="tests.test_b" name="test_both[1]" time="0.1"><properties><property name="slow" value="True"/></properties></testcase>
<testcase classname="tests.test_b" name="test_both[2]" time="4"><properties><property name="slow" value="True"/></properties></testcase>
<testcase classname="tests.test_b" name="test_short" time="0.9"><properties><property name="slow" value="True"/></properties></testcase>
<testcase classname="tests.test_b" name="test_left_out" time="0"><properties><property name="slow" value="True"/></properties><skipped/></testcase>
</testsuite></testsuites>"""  # noqa: E501


def test_rows_name_cases_of_files_that_exist():
    assert Row("slow", "test_x", "KL*-1").fits("KLUCB-1") and not Row("slow", "test_x", "KL*-1").fits("KLUCB-2")
    assert Row("slow", "test_x", "!a,b-*").fits("c") and not Row("slow", "test_x", "!a,b-*").fits("b-1")
    assert [file for file in rows() if not Path(__file__).with_name(f"{file}.py").exists()] == []


def test_durations_say_which_marks_are_wrong(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    cases = read(tmp_path / "report.xml")
    assert [case.name for case in to_mark(cases)] == ["tests.test_a::test_long[2]", "tests.test_a::test_long[1]"]
    assert to_unmark(cases) == [("tests.test_b::test_short", 0.9)]
