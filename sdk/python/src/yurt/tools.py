"""Tools for agents: their definitions in the form of each framework, and one function that calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._sync.sandbox import Sandbox
    from .results import Result


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": description, "parameters": schema}


_PATH = {"type": "string", "description": "Relative to /workspace."}


def json_schema() -> list[dict[str, Any]]:
    """Returns the tools as `name`, `description` and `parameters`, a JSON schema."""
    return [
        _tool(
            "run_code", "Run code in a sandbox. Variables and imports last from one call to the next.", ["code"],
            code={"type": "string"}, language={"type": "string", "description": "python unless given, such as javascript or r."},
        ),
        _tool("run_command", "Run a line for the shell in the sandbox.", ["command"], command={"type": "string"}),
        _tool("write_file", "Write a file of text in the sandbox.", ["path", "text"], path=_PATH, text={"type": "string"}),
        _tool("read_file", "Read a file of text in the sandbox.", ["path"], path=_PATH),
        _tool("list_files", "List a directory of the sandbox.", [], path=_PATH),
    ]


def openai() -> list[dict[str, Any]]:
    """Returns the tools for OpenAI's chat completions."""
    return [{"type": "function", "function": tool} for tool in json_schema()]


def anthropic() -> list[dict[str, Any]]:
    """Returns the tools for Anthropic's messages."""
    return [{"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in json_schema()]


def langchain(sandbox: Sandbox) -> list[Any]:
    """Returns the tools for LangChain, bound to the sandbox. It needs langchain-core."""
    from langchain_core.tools import StructuredTool  # type: ignore[import-not-found,unused-ignore]  # pyright: ignore[reportMissingImports]

    def bound(name: str) -> Any:
        return lambda **arguments: call(sandbox, name, arguments)

    return [
        StructuredTool(name=t["name"], description=t["description"], args_schema=t["parameters"], func=bound(t["name"]))
        for t in json_schema()
    ]


def call(sandbox: Sandbox, name: str, arguments: dict[str, Any]) -> str:
    """Calls the tool of that name and returns the text for the model."""
    _check(name, arguments)
    if name == "run_code":
        return _told(sandbox.run_code(arguments["code"], language=arguments.get("language", "python")))
    if name == "run_command":
        return _told(sandbox.run_command(arguments["command"]))
    if name == "write_file":
        return f"{sandbox.files.write(arguments['path'], arguments['text']).size} bytes written"
    if name == "read_file":
        return sandbox.files.read(arguments["path"])
    return "\n".join(file.path for file in sandbox.files.list(arguments.get("path", "")))


def _check(name: str, arguments: dict[str, Any]) -> None:
    """Refuses calls that a model made up."""
    schemas = {tool["name"]: tool["parameters"] for tool in json_schema()}
    if name not in schemas:
        raise InvalidArgumentError(f"{name!r} is no tool; the tools are {', '.join(schemas)}", code="invalid_argument", field="name")
    allowed = ", ".join(schemas[name]["properties"])
    for missing in schemas[name]["required"]:
        if missing not in arguments:
            raise InvalidArgumentError(f"{name} needs {missing}; its arguments are {allowed}", code="invalid_argument", field=missing)
    for given in arguments:
        if given not in schemas[name]["properties"]:
            raise InvalidArgumentError(f"{name} has no argument {given!r}; it has {allowed}", code="unknown_field", field=given)


def _told(result: Result) -> str:
    """Returns the parts of a result that a model can read."""
    parts = [result.stdout, result.stderr, result.text]
    if result.error is None and result.exit_code:
        parts.append(f"exit code {result.exit_code}")
    if result.error is not None and result.error.message not in result.stderr:
        parts.append(f"{result.error.type}: {result.error.message}")
    return "\n".join(part.rstrip("\n") for part in parts if part)
