"""`kshell mcp`: serve kshell to other agents."""

import argparse

HELP = """Serve kshell to other agents over MCP, on stdin and stdout.

Tools: tasks, run, sessions, status, events, steer, insights, export, check, verify. Sessions run in
processes of their own and outlive the server. --json lists the tools with their schemas and leaves."""


def configure(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    import asyncio
    import json

    from kshell.server import server

    made = server()
    if args.json:
        tools = asyncio.run(made.list_tools())
        print(json.dumps([tool.model_dump(mode="json", exclude_none=True) for tool in tools]))
        return 0
    made.run("stdio")
    return 0
