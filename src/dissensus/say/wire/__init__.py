"""Trackers of wire protocols on JSON-RPC: A2A and MCP."""
