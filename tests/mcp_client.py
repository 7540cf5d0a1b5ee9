"""Calls the tools of a node by the protocol's own client, and prints what they say.

    mcp_client.py '{"url": URL, "key": KEY?}'  < calls
    mcp_client.py '{"command": [LIMN, "mcp", ...]}'  < calls

Calls are read from standard input: a JSON list of [tool, arguments]. One JSON object is printed: the names of the tools, and
the answer to each call with whether it is an error.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def server(about):
    if "command" in about:
        program, *arguments = about["command"]
        return StdioServerParameters(command=program, args=arguments, env=about.get("environment"))
    headers = {"Authorization": f"Bearer {about['key']}"} if about.get("key") else {}
    return streamable_http_client(about["url"], http_client=httpx2.AsyncClient(headers=headers))


async def main():
    about, calls = json.loads(sys.argv[1]), json.load(sys.stdin)
    async with Client(server(about)) as client:
        tools = await client.list_tools()
        answers = []
        for tool, arguments in calls:
            result = await client.call_tool(tool, arguments)
            text = "".join(part.text for part in result.content)
            answers.append({"error": bool(result.is_error), "answer": json.loads(text)})
        named = {tool.name: tool.description for tool in tools.tools}
        print(json.dumps({"tools": named, "instructions": client.instructions, "answers": answers}))


asyncio.run(main())
