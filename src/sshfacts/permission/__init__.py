"""Who may do what: callers, the decision, and the executor's own check of it."""
