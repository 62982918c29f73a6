"""Ask memtop mcp five questions with the protocol's Python client: assistant.py FOLDER FILE."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(folder: str, file: str) -> None:
    questions = {
        "files": {},
        "report": {"file": file},
        "lines": {"file": file, "by": "function", "at": "end"},
        "advise": {"file": file},
        "replay": {"file": file, "torch": ["2.15"]},
    }
    server = StdioServerParameters(command="memtop", args=["mcp", folder])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        offered = {tool.name for tool in (await session.list_tools()).tools}
        for name, arguments in questions.items():
            result = await session.call_tool(name, arguments)
            print(name, name in offered, result.content[0].text.splitlines()[0], sep="|")


asyncio.run(main(*sys.argv[1:]))
