"""How a plan is driven: step by step, in branches, as a pipeline, inside one session, at open sizes."""
