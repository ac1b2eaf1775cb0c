"""Who takes part: models, panels, budgets, tools, checks. Start at :mod:`dissensus.agents.model`."""
