"""Who takes part: models and their back ends, panels, budgets, tools, checks. Start at :mod:`dissensus.agents.model`."""
