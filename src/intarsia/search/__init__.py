"""Which plan to ship: every engine alone, greedy by priority, the measured optimum, or the plan a user wrote."""
