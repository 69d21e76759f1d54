"""Displays of results in notebooks, callbacks, tables as DataFrames, and the tools as each framework calls them."""

from __future__ import annotations

from typing import Any, Callable

import pandas
from yurt import InvalidArgumentError, Result, Sandbox, tools

FRAME = """
import pandas
pandas.DataFrame({"n": [1, 2], "word": ["a", "b"], "at": pandas.to_datetime(["2026-01-02T00:00:00", "2026-01-03T04:05:06"])}, index=["x", "y"])
"""
PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 4, 9]); plt.show()"
NAMES = ["run_code", "run_command", "write_file", "read_file", "list_files"]


def refused(field: str | None, call: Callable[[], Any]) -> None:
    try:
        got = call()
    except InvalidArgumentError as error:
        assert error.field == field, f"{error!r} names the field {error.field}; expected {field}"
        return
    raise AssertionError(f"{got!r} was returned; expected that {field} is refused")


def shown(result: Result) -> dict[str, Any]:
    """Returns the bundle that IPython would show: it calls this method of objects."""
    return result.raise_for_error()._repr_mimebundle_()


def results(sandbox: Sandbox) -> None:
    table = sandbox.run_code(FRAME, language="python", dependencies=["pandas"])
    assert "text/html" in shown(table) and "text/plain" in shown(table), shown(table).keys()
    frame = table.dataframe()
    expected = pandas.DataFrame(
        {"n": [1, 2], "word": ["a", "b"], "at": pandas.to_datetime(["2026-01-02T00:00:00", "2026-01-03T04:05:06"])}, index=["x", "y"]
    )
    pandas.testing.assert_frame_equal(frame, expected, check_names=False, check_dtype=False)
    assert frame["at"].dt.year.tolist() == [2026, 2026], frame.dtypes

    installed: list[str] = []
    plot = sandbox.run_code(PLOT, language="python", dependencies=["matplotlib"], on_progress=installed.append)
    assert "matplotlib" in "".join(installed), f"on_progress got {installed}; expected the output of pip"
    assert isinstance(shown(plot)["image/png"], str) and plot.png and plot.png.startswith(b"\x89PNG"), shown(plot).keys()
    assert shown(sandbox.run_code("6 * 7", language="python"))["text/plain"] == "42"
    assert shown(sandbox.run_code("print('hej')", language="python")) == {"text/plain": "hej\n"}
    failed = sandbox.run_code("1 / 0", language="python")
    assert "ZeroDivisionError" in failed._repr_mimebundle_()["text/plain"]
    refused(None, plot.dataframe)


def callbacks(sandbox: Sandbox) -> None:
    told: dict[str, list[Any]] = {"stdout": [], "stderr": [], "results": [], "types": []}
    sandbox.run_code(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay('shown')\n6 * 7", language="python",
        on_stdout=told["stdout"].append, on_stderr=told["stderr"].append,
        on_result=lambda display: told["results"].append((display.text, display.main)), on_event=lambda event: told["types"].append(event.type),
    )
    assert "".join(told["stdout"]) == "out\n" and "".join(told["stderr"]) == "err\n", told
    assert told["results"] == [("'shown'", False), ("42", True)], told["results"]
    assert told["types"][0] == "started" and told["types"][-1] == "ended", told["types"]


def frameworks(sandbox: Sandbox) -> None:
    assert [tool["name"] for tool in tools.json_schema()] == NAMES
    assert [tool["function"]["name"] for tool in tools.openai()] == NAMES
    assert [tool["input_schema"]["type"] for tool in tools.anthropic()] == ["object"] * len(NAMES)
    bound = {tool.name: tool for tool in tools.langchain(sandbox)}
    assert list(bound) == NAMES
    assert bound["run_code"].invoke({"code": "x = 6\nx * 7"}) == "42"
    assert bound["write_file"].invoke({"path": "a.txt", "text": "hej"}) == "3 bytes written"
    assert bound["list_files"].invoke({}) == "a.txt"
    assert tools.call(sandbox, "run_command", {"command": "exit 3"}) == "exit code 3"
    assert "ZeroDivisionError" in tools.call(sandbox, "run_code", {"code": "1 / 0"})
    refused("code", lambda: tools.call(sandbox, "run_code", {}))
    refused("code", lambda: tools.call(sandbox, "run_code", {"code": 5}))
    refused("cod", lambda: tools.call(sandbox, "run_code", {"code": "1", "cod": "1"}))
    refused("name", lambda: tools.call(sandbox, "nope", {}))


with Sandbox.create() as box:
    callbacks(box)
    frameworks(box)
    results(box)
print("all shown")
