"""The doors of agents: MCP and plain HTTP in one ASGI application, and MCP over stdio."""
