"""Where version 1 of the package `mcp` had `FastMCP`: says what became of it."""

raise ModuleNotFoundError(
    "No module named 'mcp.server.fastmcp'. This is the API of mcp 2.x, where FastMCP was renamed to MCPServer "
    "(from mcp.server.mcpserver import MCPServer) and other APIs changed; pin 'mcp<2' to keep running v1 code.",
    name=__name__,
)
