"""How the cost of each path grows with processes, connections, tenants and jobs."""
