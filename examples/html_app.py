"""A tool with an HTML surface: a host that knows MCP Apps shows it, everybody else reads the text.

The page gets the tool's result from the host, as the MCP Apps specification says; the server only hands it out.
"""

import sys

from mcp.server.apps import Apps, ResourceCsp, client_supports_apps
from mcp.server.mcpserver import Context, MCPServer

VIEW = "ui://dice/view.html"
PAGE = """<!doctype html>
<title>Dice</title>
<p id="dice">…</p>
<script>
  addEventListener("message", ({data}) => {
    if (data.method === "ui/notifications/tool-result")
      document.getElementById("dice").textContent = data.params.content[0].text;
  });
</script>
"""

apps = Apps()
apps.add_html_resource(
    VIEW, PAGE, title="Dice", csp=ResourceCsp(resource_domains=["https://fonts.example.com"]), prefers_border=True
)


@apps.tool(resource_uri=VIEW)
def add_up(dice: list[int], ctx: Context) -> str:
    """Add up some dice."""
    total = f"{' + '.join(map(str, dice))} = {sum(dice)}"
    return total if client_supports_apps(ctx) else f"You rolled {total}."


server = MCPServer("Dice", extensions=[apps], log_level="WARNING")

if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
