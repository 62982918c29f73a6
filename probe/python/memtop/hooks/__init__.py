"""What the agent hangs on the program: on modules, optimizers and gradients, and what they tell."""
