"""What tensors are for, what they are called, and which variable keeps them."""
